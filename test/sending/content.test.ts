/** Content of newsletters: what a template may contain, what it renders to, and hostile templates. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isMailkeepError } from '../../lib/index.ts'
import { type Content, type ContentVariables, checkContent, prepareContent, render } from '../../lib/sending/content.ts'

const link = '{{ unsubscribe_url }}'

function content(fields: Partial<Content>): Content {
  return { subject: 'Hello', preheader: null, html: `<p>Hi</p>${link}`, text: null, ...fields }
}

const ada: ContentVariables = {
  contact: { name: 'Ada <b>&', email: 'ada@example.org', attributes: { plan: 'pro & more', 'home town': 'Rome' } },
  unsubscribe_url: 'https://mail.example.org/c/T/unsubscribe?a=1&b=2',
  preferences_url: 'https://mail.example.org/c/T/preferences',
  client: { name: 'Acme', postal_address: 'Street 1' },
}

/** An html without the link gets it at its end while it is rendered. */
function rendered({ html, ...rest }: Partial<Content>, contact: Partial<ContentVariables['contact']> = {}) {
  const isLinked = html === undefined || html.includes('unsubscribe_url')
  const fields = { ...rest, ...(html === undefined ? {} : { html: isLinked ? html : html + link }) }
  const result = render(prepareContent(content(fields)), { ...ada, contact: { ...ada.contact, ...contact } })
  const withoutLink = (text: string) => (isLinked ? text : text.replace(/https:\/\/\S+\/unsubscribe\S*$/, ''))
  return { ...result, html: withoutLink(result.html), text: withoutLink(result.text) }
}

function pathsOf(fields: Partial<Content>): string[] {
  return checkContent(content(fields)).map(({ path }) => path)
}

/** Returns the message of the only problem. */
function problemOf(html: string): string {
  const problems = checkContent(content({ html: link + html }))
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['html'],
    html.slice(0, 100),
  )
  return problems[0]!.message
}

describe('content', () => {
  test('shows every variable, escaped in html and as it is in subject and text', () => {
    const all =
      '{{ contact.name }}|{{ contact.email }}|{{ contact.attributes.plan }}|{{ contact.attributes["home town"] }}|' +
      '{{ unsubscribe_url }}|{{ preferences_url }}|{{ client.name }}|{{ client.postal_address }}'
    assert.deepEqual(checkContent(content({ subject: all, preheader: all, html: all, text: all })), [])
    const { subject, html, text } = rendered({ subject: all, html: all, text: all })
    const plain =
      'Ada <b>&|ada@example.org|pro & more|Rome|https://mail.example.org/c/T/unsubscribe?a=1&b=2|' +
      'https://mail.example.org/c/T/preferences|Acme|Street 1'
    assert.equal(text, plain)
    assert.equal(subject, plain)
    assert.equal(html, plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'))
  })

  test('a missing attribute and a missing name are empty, and filters and conditions work', () => {
    const html = '[{{ contact.attributes.none }}{{ contact.attributes.size }}{{ contact.name | default: "there" }}]'
    assert.equal(rendered({ html }, { name: null }).html, '[there]')
    const choice = '{% if contact.attributes.plan == "free" %}A{% else %}B{% endif %}'
    assert.equal(rendered({ html: choice }).html, 'B')
    assert.equal(rendered({ html: choice }, { attributes: { plan: 'free' } }).html, 'A')
    assert.equal(rendered({ html: '{{ contact.attributes.size }}' }, { attributes: { size: 'XL' } }).html, 'XL')
    assert.equal(rendered({ html: '{{ 0 | date: "%Y-%m-%d %H:%M" }}' }).html, '1970-01-01 00:00', 'in UTC')
  })

  test('an unknown variable, filter or tag is a problem of its field', () => {
    assert.deepEqual(pathsOf({ subject: '{{ foo }}', preheader: '{{ contact }}', text: `${link}{{ contact.foo }}` }), [
      'subject',
      'preheader',
      'text',
    ])
    for (const html of [
      '{{ name }}',
      '{{ contact[client.name] }}',
      '{{ contact.name.first }}',
      '{{ contact.attributes.plan.name }}',
      '{{ unsubscribe_url.host }}',
      '{% for x in contacts %}{% endfor %}',
      '{% if false %}{{ foo }}{% endif %}',
      '{{ "a" | nonsense }}',
      '{% nonsense %}',
      '{{ contact.name',
      '{% if true %}',
    ])
      problemOf(html)
    assert.match(problemOf('{{ contact.nmae }}'), /"contact\.nmae".*contact\.name/)
    const two = problemOf('{{ first_name }} {{ action_url }} {{ first_name }}')
    assert.match(
      two,
      /^There is no variable "first_name", "action_url"\. Known: contact\.name, [^"]*client\.postal_address\.$/,
    )
    assert.deepEqual(pathsOf({ html: `${link}{% assign x = 1 %}{{ x }}{% for i in (1..2) %}{{ i }}{% endfor %}` }), [])
    assert.deepEqual(pathsOf({ html: `${link}{{ contact.attributes[contact.name] }}` }), [])
    const sizes = '{{ contact.name.size }}{{ contact.attributes.plan.size }}{{ contact.attributes.size }}'
    assert.deepEqual(pathsOf({ html: link + sizes }), [])
  })

  test('all attributes together are no text: printing them is a problem of the field', () => {
    const printed = ['{{ contact.attributes }}', '{{ contact.attributes | upcase }}', '{% echo contact.attributes %}']
    for (const html of [...printed, '{% assign all = contact.attributes %}{{ all }}'])
      assert.match(problemOf(html), /name the attribute, as in contact\.attributes\.city/, html)
    assert.deepEqual(pathsOf({ subject: printed[0]!, text: link + printed[0]! }), ['subject', 'text'])
    const each = '{% for pair in contact.attributes %}{{ pair[0] }}={{ pair[1] }};{% endfor %}'
    assert.equal(rendered({ html: each }).html, 'plan=pro &amp; more;home town=Rome;')
  })

  test('unsubscribe_url is required in the html, and in a text if there is one', () => {
    assert.deepEqual(pathsOf({ html: '<p>Hi</p>' }), ['html'])
    assert.deepEqual(pathsOf({ html: '<p>Hi</p>', text: 'Hi' }), ['html', 'text'])
    assert.deepEqual(pathsOf({ text: 'Hi' }), ['text'])
    assert.deepEqual(pathsOf({ text: `Hi ${link}` }), [])
    assert.deepEqual(pathsOf({ html: `<style>${link}</style>` }), ['html'], 'the text would not have it')
    assert.deepEqual(pathsOf({ html: `<style>${link}</style>`, text: link }), [])
    const some = `{% if contact.attributes.plan == 'pro' %}${link}{% endif %}`
    for (const hidden of [some, '{% assign url = unsubscribe_url %}', '{% if unsubscribe_url %}Hi{% endif %}']) {
      assert.deepEqual(pathsOf({ html: hidden, text: link }), ['html'], hidden)
      assert.deepEqual(pathsOf({ text: hidden }), ['text'], hidden)
    }
    for (const hidden of [`<!-- ${link} -->`, `<!--{% if true %}-->Hi<!-- ${link}`, `{{ '<!--' | raw }}${link}-->`]) {
      assert.deepEqual(pathsOf({ html: hidden, text: link }), ['html'], hidden)
    }
    for (const shown of [
      `<!--[if !mso]><!-->${link}<!--<![endif]-->`,
      `<!-->${link}`,
      `<!-- {% if true %} -->${link}<!-- {% endif %} -->`,
    ]) {
      assert.deepEqual(pathsOf({ html: shown, text: link }), [], shown)
    }
    assert.deepEqual(pathsOf({ text: `{% if contact.attributes.plan %}Hi{% else %}Hello{% endif %} ${link}` }), [])
  })

  test('a missing text is made from the html, with the same outputs', () => {
    const html =
      '<html><head><style>p {}</style></head><body><h1>Hi {{ contact.name }}</h1><img src="x.png" alt="x">' +
      '<p>Your plan: {{ contact.attributes.plan }} &amp; so on</p><a href="{{ unsubscribe_url }}">Leave</a></body></html>'
    const expected =
      'Hi Ada <b>&\n\nYour plan: pro & more & so on\n\nLeave <https://mail.example.org/c/T/unsubscribe?a=1&b=2>'
    assert.equal(rendered({ html }).text, expected)
    const withTag = html.replace('<h1>', '{% if contact.name %}<h1>').replace('</h1>', '</h1>{% endif %}')
    assert.equal(rendered({ html: withTag }).text, expected, 'also where the rendered html must be converted')
    assert.equal(rendered({ html: '{{ "}}" }} a &#123;&#123; b }}' }).text, '}} a {{ b }}')
  })

  test('a missing text is that of the rendered html, also with trimmed white space and numbers of lists', () => {
    const url = 'https://mail.example.org/c/T/unsubscribe?a=1&b=2'
    for (const [html, text] of [
      ['<p>Hello {{ contact.name -}} !</p>{{- unsubscribe_url }}', `Hello Ada <b>&!\n\n${url}`],
      ['<p>Bye</p> <a href="{{- unsubscribe_url -}}">Leave</a> <p>Now</p>', `Bye\n\nLeave <${url}>\n\nNow`],
      ['<ol start="{{ contact.attributes.first }}"><li>A</li></ol>{{ unsubscribe_url }}', ` 3. A\n\n${url}`],
      ['<a href="{{ unsubscribe_url }}">{{ unsubscribe_url }}</a>', url],
      ['<a href="mailto:{{ contact.email }}">{{ contact.email }}</a> {{ unsubscribe_url }}', `ada@example.org ${url}`],
    ] as const) {
      assert.equal(rendered({ html }, { attributes: { first: '3' } }).text, text, html)
    }
  })

  test('a filter that escapes shows what is shown without it', () => {
    const attributes = { company: 'Ada & "Co" <b>', none: '' }
    const show = (output: string) => {
      const { html, text } = rendered({ html: `<p>${output}</p>{{ unsubscribe_url }}` }, { attributes })
      return [html.split('</p>')[0], text.split('\n')[0]]
    }
    const plain = show('{{ contact.attributes.company }}')
    assert.deepEqual(plain, ['<p>Ada &amp; &#34;Co&#34; &lt;b&gt;', 'Ada & "Co" <b>'])
    assert.deepEqual(show('{{ contact.attributes.company | escape }}'), plain)
    assert.deepEqual(show('{{ contact.attributes.company|escape_once }}'), plain)
    assert.deepEqual(
      show('{% assign c = contact.attributes.company | escape %}{% if c contains "Co" %}{{ c }}{% endif %}'),
      plain,
    )
    assert.deepEqual(show('{{ contact.attributes.none | escape | default: "You" }}'), ['<p>You', 'You'])
    assert.deepEqual(show('{{ contact.attributes.company | escape | newline_to_br | raw }}'), plain)
  })

  test('newline_to_br breaks the lines of a value, and escapes the value', () => {
    const attributes = { street: 'A & B\r\n<i>Street</i> 1\nRome' }
    const show = (output: string) => {
      const { html, text } = rendered({ html: `<p>${output}</p>{{ unsubscribe_url }}` }, { attributes })
      return [html.split('</p>')[0], text.split('\n\n')[0]!.split(/\r?\n/)]
    }
    const lines = ['A & B', '<i>Street</i> 1', 'Rome']
    const broken = ['<p>A &amp; B<br />\n&lt;i&gt;Street&lt;/i&gt; 1<br />\nRome', lines]
    assert.deepEqual(show('{{ contact.attributes.street | newline_to_br }}'), broken)
    assert.deepEqual(show('{% if true %}{{ contact.attributes.street | newline_to_br }}{% endif %}'), broken)
    assert.deepEqual(show('{% assign s = contact.attributes.street | newline_to_br %}{% echo s %}'), broken)
    assert.deepEqual(show('{{ contact.attributes.street | escape | newline_to_br }}'), broken)
    const raw = show('{{ contact.attributes.street | newline_to_br | raw }}')[0]
    assert.equal(raw, '<p>A & B<br />\n<i>Street</i> 1<br />\nRome')
    const { text } = rendered({ text: `${link} {{ contact.attributes.street | newline_to_br }}` }, { attributes })
    assert.ok(text.endsWith(` ${attributes.street}`), 'a text has no tags')
    const echoed = `${link} {% assign s = contact.attributes.street | newline_to_br %}{% echo s %}`
    assert.equal(rendered({ text: echoed }, { attributes }).text, text)
  })

  test('other filters find the tags of newline_to_br, also in a text', () => {
    const attributes = { street: 'Street 1\nRome' }
    const street = 'contact.attributes.street | newline_to_br | strip_newlines'
    const split = `{% assign lines = ${street} | split: '<br />' %}{{ lines | join: ', ' }}`
    for (const output of [split, `{{ ${street} | replace: '<br />', ', ' }}`]) {
      const written = rendered({ html: `${link} ${output}`, text: `${link} ${output}` }, { attributes })
      const made = rendered({ html: `${link} ${output}` }, { attributes })
      for (const text of [written.html, written.text, made.text]) assert.ok(text.endsWith(' Street 1, Rome'), text)
    }
    const asJson = '{% capture c %}A"B{% endcapture %}{{ c | json | raw }}'
    assert.equal(rendered({ html: asJson }).html, '"A\\"B"')
  })

  test('a missing text has the rows of a table on lines of their own, and spaces between its cells', () => {
    const url = 'https://mail.example.org/c/T/unsubscribe?a=1&b=2'
    for (const [html, text] of [
      ['<table><tr><td>{{ unsubscribe_url }}</td><td>Imprint</td></tr></table>', `${url} Imprint`],
      ['<table><tr><th>A</th><td>{{ unsubscribe_url }}</td></tr><tr><td>B</td></tr></table>', `A ${url}\nB`],
      ['<table>\n<tr>\n <td>\n{{ unsubscribe_url }} </td>\n</tr>\n<tr><td><p>B</p></td></tr></table>', `${url}\n\nB`],
      ['<center>A</center><center>{{ unsubscribe_url }}</center><dl><dt>B</dt><dd>C</dd></dl>', `A\n${url}\nB\nC`],
    ] as const)
      assert.equal(rendered({ html }).text, text, html)
  })

  test('a missing text leaves out what the html hides', () => {
    for (const style of ['display:none', 'max-height:0; display: none !important', 'DISPLAY: NONE;color:#fff']) {
      const hidden = `<div style="${style}">Preheader &zwnj;&nbsp;<table><tr><td><p>More</p></td></tr></table></div>`
      assert.equal(rendered({ html: `${hidden}<p>Hi</p>{{ unsubscribe_url }}` }).text.split('\n')[0], 'Hi', style)
    }
  })

  test('a missing text names a link of an image by the alt text of the image', () => {
    const image = (alt: string) => `<a href="https://x.example/"><img src="x.png" ${alt}></a>`
    for (const [html, text] of [
      [image('alt="Buy &amp; save"'), 'Buy & save <https://x.example/>'],
      [image('alt="For {{ contact.name }}"'), 'For Ada <b>& <https://x.example/>'],
      [image('alt="A"') + image('alt="B"'), 'A <https://x.example/> B <https://x.example/>'],
      [image('alt="https://x.example/"'), 'https://x.example/'],
      [image('alt=""'), 'https://x.example/'],
      [image(''), 'https://x.example/'],
      ['<img src="x.png" alt="A flower">Hi', 'Hi'],
    ] as const)
      assert.equal(rendered({ html: `<div>${html}</div>{{ unsubscribe_url }}` }).text.split('\n')[0], text, html)
  })

  test('an html near the limit of its text is sent as it is checked', () => {
    const html = `${'{{ contact.attributes.x }}'.repeat(400)}<p>${'w '.repeat(99_300)}</p>${link}`
    assert.deepEqual(pathsOf({ html }), [])
    assert.ok(rendered({ html }).text.includes('/unsubscribe'))
  })

  test('a preheader is hidden at the start of the body, escaped, and not in the text', () => {
    const { html, text } = rendered({
      preheader: 'News & <i> {{ contact.name }}',
      html: `<html><body class="x">Hi ${link}</body></html>`,
    })
    assert.match(
      html,
      /^<html><body class="x"><div style="display:none[^>]*>News &amp; &lt;i&gt; Ada &lt;b&gt;&amp;<\/div>Hi /,
    )
    assert.doesNotMatch(html, /font-size/, 'a tiny font costs points with spam filters')
    assert.equal(text, `Hi ${ada.unsubscribe_url}`)
    assert.match(rendered({ preheader: 'News', html: 'Hi' }).html, /^<div style="display:none[^>]*>News<\/div>Hi$/)
  })

  test('a preheader of html without the tag of a body follows its doctype, its first tag and its head', () => {
    const starts = ['<!DOCTYPE html>', '<!doctype html>\n<html lang="en">', '<html><head><title>x</title></head >']
    for (const start of starts) {
      const { html } = rendered({ preheader: 'News', html: `${start}Hi ${link}` })
      assert.ok(html.startsWith(`${start}<div style="display:none`), html)
    }
  })

  test('a preheader follows the tag of the body, not a ">" in its attributes or a tag in a comment', () => {
    const tags = [
      '<body data-x="a>b">',
      "<BODY data-x='a>\"b' class=x>",
      '<!--[if mso]><body class="mso"><![endif]--><body>',
      '<body\n title="<body>">',
    ]
    for (const tag of tags) {
      const { html } = rendered({ preheader: 'News', html: `<html>${tag}Hi ${link}` })
      assert.ok(html.startsWith(`<html>${tag}<div style="display:none`), html)
    }
    for (const broken of ['<body title="x', '<!-- <body>'])
      assert.match(
        rendered({ preheader: 'News', html: `${link}${broken}` }).html,
        /^<div style="display:none[^>]*>News</,
      )
    const started = process.cpuUsage().user
    for (const unclosed of [`${'<body \'"'.repeat(10_000)}${'<!--'.repeat(10_000)}`, '<!doctype'.repeat(30_000)]) {
      rendered({ preheader: 'News', html: `${link}${unclosed}` })
    }
    assert.ok(process.cpuUsage().user - started < 1e6, 'also where nothing is closed it takes linear time')
  })

  test('a subject is one line without control characters, at most 500 characters', () => {
    const name = 'Ada\r\nBcc: eve@example.org\u0000\u0085\u2028x'
    assert.equal(rendered({ subject: ' Hi {{ contact.name }}\n' }, { name }).subject, 'Hi Ada Bcc: eve@example.org x')
    assert.equal(rendered({ subject: '{{ contact.name }}' }, { name: 'é'.repeat(9000) }).subject, 'é'.repeat(500))
  })
})

describe('a capture of an html', () => {
  const greeting = '{% capture hi %}<b>Hi</b> {{ contact.name }}{% endcapture %}'
  const shown = '<b>Hi</b> Ada &lt;b&gt;&amp;'

  test('is shown as it was rendered', () => {
    assert.equal(rendered({ html: `${greeting}{{ hi }}` }).html, shown)
    assert.equal(rendered({ html: `${greeting}{% assign again = hi %}{{ again }}` }).html, shown)
    assert.equal(rendered({ html: `${greeting}{{ hi | raw }}` }).html, shown)
    assert.equal(rendered({ html: `${greeting}{{ hi.size }},{{ hi | size }}` }).html, `${shown.length},${shown.length}`)
    assert.equal(rendered({ html: `${greeting}{% echo hi %}` }).html, shown)
    assert.equal(rendered({ html: `${greeting}{% liquid echo hi | raw %}` }).html, shown)
    const twice = '{% capture both %}{{ hi }}, {{ hi }}{% endcapture %}'
    assert.equal(rendered({ html: `${greeting}${twice}{{ both }}` }).html, `${shown}, ${shown}`)
    assert.equal(rendered({ text: `${link}${greeting}{{ hi }}` }).text.endsWith('<b>Hi</b> Ada <b>&'), true)
  })

  test('is a text for filters and conditions, which is escaped', () => {
    assert.equal(rendered({ html: `${greeting}{{ hi | upcase | slice: 0, 3 }}` }).html, '&lt;B&gt;')
    assert.equal(rendered({ html: `${greeting}{{ "<i>" | append: hi }}` }).html.includes('<'), false)
    assert.equal(rendered({ html: `${greeting}{% echo hi | append: "" %}` }).html.includes('<'), false)
    assert.equal(rendered({ html: '{% echo contact.name %}{% echo %}' }).html, 'Ada &lt;b&gt;&amp;')
    assert.equal(rendered({ html: `${greeting}{% if hi contains "Ada" %}yes{% endif %}` }).html, 'yes')
    assert.equal(rendered({ html: '{% capture no %}{% endcapture %}{% if no == blank %}none{% endif %}' }).html, 'none')
  })
})

describe('hostile templates', () => {
  /** Each blocks the process, so each must end soon. The limit is far above what they take. */
  const maxMs = 8000
  const doubled = '{% assign r = r | concat: r %}'.repeat(16)

  for (const [name, html] of [
    ['a loop over a billion', '{% for i in (1..1000000000) %}x{% endfor %}'],
    ['loops in loops', `${'{% for i in (1..1000) %}'.repeat(5)}${'{% endfor %}'.repeat(5)}`],
    ['a huge output', `{% for i in (1..100000) %}${'x'.repeat(50_000)}{% endfor %}`],
    ['text that doubles', `{% assign x = "xxxxxxxxxx" %}${'{% assign x = x | append: x %}'.repeat(60)}`],
    ['captures that double', `${'{% capture x %}{{ x }}{{ x }}xxxxxxxxx{% endcapture %}'.repeat(60)}`],
    ['an expression for each element', '{% assign r = (1..9000) | where_exp: "i", "i > 0" %}'],
    ['a property of many elements', '{% assign r = (1..900000) | where: "a" %}'],
    ['a search in many elements', '{% assign r = (1..900000) | find: "a" %}'],
    ['a long property of each element', `{% assign r = (1..9000) | sum: "${'a.'.repeat(45_000)}a" %}`],
    ['a sort of many elements', '{% assign r = (1..900000) | sort %}'],
    ['a sort of long texts', `{% assign r = "${'x'.repeat(50_000)}" | split: "," %}${doubled}{{ r | sort_natural }}`],
    ['many searches of an array', `{% assign r = (1..90000) %}{% if ${'r contains 0 or '.repeat(6000)}1 %}{% endif %}`],
    ['many comparisons', `{% assign r = (1..90000) %}{% case r %}{% when ${'r,'.repeat(45_000)}1 %}{% endcase %}`],
    ['a slow search', `{% if "${'a'.repeat(50_000)}" contains "b${'a'.repeat(25_000)}" %}{% endif %}`],
    ['a slow replacement', `{{ "${'a'.repeat(50_000)}" | remove_last: "${'a'.repeat(25_000)}b" }}`],
    ['lists in lists', `{% assign r = "a" | split: "," %}${'{% assign r = r | push: r %}'.repeat(40)}{{ r }}`],
    ['groups in groups', '{% assign r = "a,b" | split: "," | group_by: "x" | map: "items" %}{{ r }}'],
    ['a cycle with many groups', `{% for i in (1..1000) %}{% cycle i: "${'x'.repeat(90_000)}" %}{% endfor %}`],
    ['many names of days', `{{ "now" | date: "${'%A'.repeat(40_000)}" }}`],
    ['many lines of a tag', `{% liquid\n${'echo 1\n'.repeat(5000)}%}`],
    ['a long tag', `{% if ${'1 or '.repeat(30_000)}1 %}{% endif %}`],
    ['a wide date', '{{ "now" | date: "%999999999d" }}'],
    ['deep parentheses', `{{ ${'('.repeat(200_000)} }}`],
    ['too many tags', '{% if true %}{% endif %}'.repeat(20_000)],
    [
      'an expression that never ends',
      `{{ contact.attributes${'[contact.attributes'.repeat(20_000)}${']'.repeat(20_000)} }}`,
    ],
    ['a long path', `{{ contact${'.a'.repeat(200_000)} }}`],
    ['too many characters', 'x'.repeat(500_001)],
    ['unclosed tags', '{% '.repeat(4000)],
    ['a file', '{% include "/etc/passwd" %}'],
    ['another file', '{% render "/etc/passwd" %}'],
    ['a layout', '{% layout "/etc/passwd" %}'],
    ['a file in another way', '{% liquid\ninclude "/etc/passwd" %}'],
  ] as const) {
    test(`${name}: is a problem of the html, in bounded time`, () => {
      const start = performance.now()
      const problems = checkContent(content({ html: `${link}${html}`, text: link }))
      assert.ok(performance.now() - start < maxMs, `${performance.now() - start} ms`)
      assert.equal(problems[0]?.path, 'html')
      for (const { message } of problems) assert.ok(message.length < 500, message)
    })
  }

  test('filters and conditions work on lists', () => {
    const list = '{% assign r = "b,a" | split: "," %}{% assign r = r | push: "c" | sort %}'
    assert.equal(rendered({ html: `${list}{{ r | join: "" }}{{ r | where: "x" | size }}` }).html, 'abc0')
    assert.equal(rendered({ html: `${list}{% if r contains "b" and r == r %}yes{% endif %}` }).html, 'yes')
    assert.equal(rendered({ html: '{% if contact.attributes contains "x" %}x{% else %}no{% endif %}' }).html, 'no')
    assert.equal(rendered({ html: `${list}{% case r %}{% when r %}yes{% endcase %}` }).html, 'yes')
    assert.equal(rendered({ html: '{% for i in (1..3) %}{% cycle "x", "y" %}{% endfor %}' }).html, 'xyx')
    assert.equal(rendered({ html: '{% liquid\nassign a = "x"\necho a\n%}' }).html, 'x')
    assert.equal(rendered({ html: '{% if contact.name != blank and not false %}yes{% endif %}' }).html, 'yes')
  })

  test('conditions, values, names and dates count as work', (t) => {
    performance.now = () => 0 // so that the time does not stop them; a mock would record each call
    t.after(() => Reflect.deleteProperty(performance, 'now'))
    const many = (times: number, body: string) => `{% for i in (1..${times}) %}${body}{% endfor %}`
    for (const html of [
      many(500, `{% if 1 == 2${' or 1 == 2'.repeat(300)} %}{% endif %}`),
      many(300, `{% if contact.name == 'x'${" or contact.name == 'x'".repeat(300)} %}{% endif %}`),
      many(1000, `{% case i %}${'{% when 0 %}x'.repeat(300)}{% endcase %}`),
      many(40_000, '{% if contact.attributes.a %}{% endif %}'),
      many(9000, `{{ i${' | plus: 1'.repeat(30)} }}`),
      many(60_000, '{{ i }}'),
      many(5000, '{{ "2026-01-02" | date_to_string }}'),
    ])
      assert.match(problemOf(html), /work limit exceeded/, html.slice(0, 100))
  })

  test('the templates of a content share the time', (t) => {
    let nowMs = 0
    t.mock.method(performance, 'now', () => {
      nowMs += 1
      return nowMs
    })
    const slow = '{% for i in (1..100000) %}{% if i == 0 %}x{% endif %}{% endfor %}'
    const all = { subject: slow, preheader: slow, html: link + slow, text: link + slow }
    assert.deepEqual(pathsOf(all), ['subject', 'preheader', 'html', 'text'])
    assert.ok(nowMs < 700, `${nowMs} ms`)
    nowMs = 0
    assert.throws(() => render(prepareContent(content(all)), ada))
    assert.ok(nowMs < 700, `${nowMs} ms`)
  })

  test('the html of a text that is not given is converted in bounded time', () => {
    for (const tag of ['<div>', '<ul><li>', '<table><tr><td>', '<a href=x>', '<!--', '<', '&']) {
      const start = performance.now()
      assert.deepEqual(pathsOf({ html: tag.repeat(490_000 / tag.length) + link }), ['html'], tag)
      assert.ok(performance.now() - start < maxMs, `${tag}: ${performance.now() - start} ms`)
    }
  })

  test('the text of lines in many quotations or lists is bounded', () => {
    for (const [level, depth] of [
      ['<blockquote>', 190],
      ['<blockquote>', 50],
      ['<ul><li>', 25],
    ] as const) {
      for (const line of ['a\n', 'a<br>', 'a&#10;']) {
        const html = `${link}${level.repeat(depth)}<pre>${line.repeat(190_000 / line.length)}`
        const { text } = rendered({ html })
        assert.ok(text.length < 3_000_000, `${level} ${depth} ${line}: ${text.length}`)
      }
    }
  })

  test('a text has what is in fifty levels of elements', () => {
    const html = `${'<div>'.repeat(50)}<p>Deep</p>${link}`
    assert.match(rendered({ html }).text, /Deep/)
  })

  test('prototypes and functions cannot be reached', () => {
    const html =
      '[{{ contact.attributes.constructor }}{{ contact.attributes.__proto__ }}{{ contact.attributes.toString }}' +
      '{{ contact.name.constructor }}{{ contact.attributes.plan.constructor.constructor }}]'
    assert.equal(rendered({ html }).html, '[]')
    for (const path of ['contact.constructor', 'constructor', '__proto__', 'toString', 'process.env']) {
      assert.match(problemOf(`{{ ${path} }}`), /no variable/)
    }
  })

  test('a template that is too slow for one contact only fails to render for that contact', () => {
    const prepared = prepareContent(content({ html: `${link}{% for i in (1..contact.attributes.n) %}x{% endfor %}` }))
    const withN = (n: string) => ({ ...ada, contact: { ...ada.contact, attributes: { n } } })
    assert.match(render(prepared, withN('3')).html, /xxx$/)
    assert.throws(
      () => render(prepared, withN('1000000000')),
      (error) => isMailkeepError(error, 'validation_failed') && error.issues[0]?.path === 'html',
    )
  })
})
