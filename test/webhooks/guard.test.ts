import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addressProblem } from '../../lib/webhooks/http/address.ts'
import { type GuardSettings, urlProblem } from '../../lib/webhooks/http/url-rule.ts'

const settings: GuardSettings = { allowPrivate: false, ports: [443, 8443] }
const development: GuardSettings = { allowPrivate: true, ports: [443, 8443] }

/** Splits a text of URLs separated by white space. */
const rows = (text: string) => text.split('\n').flatMap((row) => row.trim().split(/ +/).filter(Boolean))

const refused: Record<string, string[]> = {
  'schemes other than https': rows(`
    http://example.com/ HTTP://example.com http://127.0.0.1/ ftp://example.com/ ws://example.com wss://example.com/
    file:///etc/passwd file://localhost/etc/passwd data:text/plain,x javascript:alert(1) gopher://127.0.0.1:6379/_x
    dict://127.0.0.1:11211/ ldap://example.com blob:https://example.com/1 jar:https://example.com!/ about:blank
    httpss://example.com xhttps://example.com https+unix://example.com unix:/var/run/docker.sock mailto:a@example.com`),
  'texts that are not a URL with a host': [
    ...rows(`https https: https:/ https:// https:/// https://? https:///? https:example.com https:/example.com
      https:///example.com https:////example.com //example.com /example example.com example.com:443 null undefined
      https://:443/ https://: https://?x https://[ https://[] https://[::1 https://] https://::1/ https://[:::1]/
      https://[1::2::3]/ https://[12345::1]/ https://[::1]x/ https://x[::1]/ https://[127.0.0.1]/ https://[g::1]/`),
    '',
  ],
  userinfo: rows(`
    https://example.com@127.0.0.1/ https://user@example.com/ https://user:secret@example.com https://@example.com/
    https://:@example.com/ https://@@example.com https://example.com:443@127.0.0.1/ https://127.0.0.1@example.com/
    https://a@b@example.com/ https://example.com%40127.0.0.1/ https://example.com%2540127.0.0.1/ https://%@example.com
    https://example.com＠127.0.0.1/ https://example.com:@127.0.0.1 https://foo@127.0.0.1:443@example.com/`),
  fragments: rows(`
    https://example.com/# https://example.com/#a https://example.com# https://example.com#@127.0.0.1/
    https://example.com/?a#b https://127.0.0.1#.example.com https://#example.com`),
  'backslashes, white space, control and invisible characters': [
    'https://127.0.\t0.1/',
    'https://example.com\t/',
    'https://exam\nple.com/',
    'https://example.com/\r\nX-Header: 1',
    'ht\ntps://example.com/',
    ' https://example.com/',
    'https://example.com/ ',
    'https://example.com/a b',
    'https://exa mple.com/',
    'https://example.com/?a b',
    ...['\\', '\\\\', '\0', '\u0001', '\u001f', '\u007f', '\u0085', '\u00a0', '\u00ad', '\u034f', '\u061c', '\u115f'],
    ...['\u1680', '\u17b4', '\u180e', '\u2000', '\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u2028', '\u2029'],
    ...['\u202a', '\u202e', '\u202f', '\u205f', '\u2060', '\u2066', '\u2069', '\u206f', '\u2800', '\u3000', '\u3164'],
    ...['\ufe00', '\ufe0f', '\ufeff', '\uffa0', '\ufff0', '\ufff9', '\ud800', '\udfff', '\ue000', '\uffff'],
    ...['\u{1bca0}', '\u{1d159}', '\u{1d173}', '\u{e0001}', '\u{e0041}', '\u{e0100}', '\u{f0000}', '\u{10ffff}'],
  ].flatMap((each) => (each.includes('http') || each.includes('ttps') ? [each] : around(each))),
  'percent signs that hide something in a host': rows(`
    https://%31%32%37.0.0.1/ https://127%2e0%2e0%2e1/ https://%6cocalhost/ https://%6c%6f%63%61%6c%68%6f%73%74/
    https://exa%C2%ADmple.com/ https://exa%E2%80%8Bmple.com/ https://example.com%00/ https://example.com%09/
    https://example.com%0d%0a/ https://example.com%20/ https://example.com%2f.evil.com/ https://example.com%5c/
    https://example.com%23/ https://%ff.com/ https://%zz.com/ https://%/ https://%2531.com/ https://%5b::1%5d/
    https://foo%2elocal/ https://%ef%bc%91%ef%bc%92%ef%bc%97.0.0.1/ https://example.com%3a443/ https://a%E2%80%8D.com/`),
  'ports other than 443 and 8443': rows(`
    https://example.com:6379/ https://example.com:80/ https://example.com:22 https://example.com:0/ https://[2001:4860:4860::8888]:25/
    https://example.com:8080/ https://example.com:65535/ https://example.com:65536/ https://example.com:65979/
    https://example.com:-1/ https://example.com:443:443/ https://example.com:4430/ https://example.com:44３/
    https://example.com:%34%34%33/ https://example.com:0x1bb/ https://example.com:443a/ https://8.8.8.8:9200/`),
  'private IPv4 addresses': rows(`
    https://127.0.0.1/ https://127.0.0.1:443/ https://127.255.255.254 https://0.0.0.0/ https://0.1.2.3/ https://0.255.255.255
    https://10.0.0.0/ https://10.255.255.255/ https://172.16.0.1/ https://172.31.255.254/ https://192.168.0.1/
    https://192.168.255.255/ https://100.64.0.1/ https://100.127.255.254/ https://169.254.169.254/latest/meta-data/
    https://169.254.170.2/ https://192.0.0.1/ https://192.0.0.8 https://192.0.0.170/ https://192.0.0.192/ https://192.0.2.1/
    https://192.88.99.1/ https://198.18.0.1/ https://198.19.255.255/ https://198.51.100.1/ https://203.0.113.7/
    https://224.0.0.1/ https://239.255.255.255/ https://240.0.0.1/ https://255.255.255.255/ https://168.63.129.16/
    https://100.100.100.200/ https://127.0.0.1?x https://127.0.0.1./`),
  'IPv4 addresses in other notations': rows(`
    https://0x7f.0x0.0x0.0x1/ https://012.0.0.1/ https://0177.0.0.1/ https://0177.0000.0000.0001/ https://0x7f000001/
    https://2130706433/ https://017700000001/ https://127.1/ https://127.0.1/ https://0x7f.1/ https://0/ https://0x0/
    https://00000000177.1/ https://0x/ https://0x./ https://10.1 https://192.168.257/ https://0xa9fea9fe/ https://2852039166/
    https://0251.0376.0251.0376/ https://0XA9.0XFE.0XA9.0XFE/ https://169.16689662/ https://127.0.0.0x1/ https://3232235521/
    https://①②⑦.⓪.⓪.①/ https://127。0。0。1/ https://127．0．0．1/ https://127｡0｡0｡1/ https://１２７.0.0.1/ https://𝟏𝟐𝟕.𝟎.𝟎.𝟏/
    https://０ｘ７ｆ.1/ https://2130706433./ https://0x7f.1./ https://256.0.0.1/ https://4294967296/ https://1.2.3.4.5/
    https://example.1/ https://foo.0x7f/ https://example.com.0/ https://127.0.0.1../ https://127..1/ https://08.8.8.8/
    https://-127.0.0.1/ https://+127.0.0.1/ https://127.0.0.1,example.com/ https://¹²⁷.0.0.1/`),
  'private IPv6 addresses': rows(`
    https://[::1]/ https://[::]/ https://[0:0:0:0:0:0:0:1]/ https://[0000:0000:0000:0000:0000:0000:0000:0001] https://[::2]/
    https://[fe80::1]/ https://[febf::1]/ https://[fe80::1%25eth0]/ https://[fe80::1%eth0]/ https://[fec0::1]/ https://[fc00::1]/
    https://[fd20:ce::254]/ https://[fd00:ec2::254]/ https://[fdff::]/ https://[ff02::1]/ https://[ff0e::1]/ https://[5f00::1]/
    https://[100::1]/ https://[100:0:0:1::1]/ https://[2001:db8::1]/ https://[2001:DB8::1]/ https://[3fff::1]/ https://[3fff:fff::1]/
    https://[2001::1]/ https://[2001:2::1]/ https://[2001:10::1]/ https://[2001:20::1]/ https://[2001:1::1]/ https://[2001:1ff::1]/
    https://[4000::1]/ https://[1fff::1]/ https://[e000::1]/ https://[2001:4860:4860::8888%25en0]/ https://[200::1]/`),
  'IPv4 addresses inside IPv6': rows(`
    https://[::ffff:127.0.0.1]/ https://[::ffff:7f00:1]/ https://[::ffff:a9fe:a9fe]/ https://[::FFFF:10.0.0.1] https://[::127.0.0.1]/
    https://[::7f00:1]/ https://[0:0:0:0:0:ffff:192.168.0.1]/ https://[::ffff:0:127.0.0.1]/ https://[::ffff:0:7f00:1]/
    https://[64:ff9b::127.0.0.1]/ https://[64:ff9b::7f00:1]/ https://[64:ff9b:1::a9fe:a9fe]/ https://[64:ff9b:1:ffff::10.0.0.1]/
    https://[2002:7f00:1::]/ https://[2002:a9fe:a9fe::1]/ https://[2002:808:808::1]/ https://[2001:0:7f00:1::]/
    https://[2001:0:53aa:64c:0:0:80ff:fffe]/ https://[fe80::5efe:127.0.0.1]/ https://[2001:4860::5efe:127.0.0.1]/
    https://[2001:4860::5efe:7f00:1]/ https://[2606:4700::200:5efe:10.0.0.1]/ https://[2606:4700:0:0:200:5efe:a9fe:a9fe]/
    https://[2606:4700::100:5efe:c0a8:1]/ https://[2606:4700:1:1:300:5efe:0:0]/ https://[2606:4700::10.0.0.1]/
    https://[2606:4700::169.254.169.254]/ https://[::ffff:8.8.8.8]/ https://[64:ff9b::8.8.8.8]/`),
  'names for private networks and special use': [
    ...rows(`https://localhost/ https://LOCALHOST/ https://localhost:8443/ https://ＬＯＣＡＬＨＯＳＴ/ https://ⓛocalhost/ https://ℓocalhost/
      https://loc%61lhost/ https://xn--localhost-/ https://xn--localhost-.com/ https://instance-data/latest/ https://metadata/
      https://kubernetes https://com/ https://com./ https://router/ https://ip6-localhost/ https://xn--p1ai/ https://1a/`),
    ...'localhost localdomain local internal intranet lan home corp mail svc home.arpa arpa test invalid onion'
      .split(' ')
      .flatMap((suffix) => [`https://${suffix}/`, `https://a.${suffix}`, `https://A.B.${suffix.toUpperCase()}./x`]),
    ...rows(`https://metadata.google.internal/ https://metadata.google.internal./ https://kubernetes.default.svc/
      https://kubernetes.default.svc.cluster.local/ https://localhost.localdomain/ https://printer.local/ https://svc.test/
      https://printer。local/ https://printer.ｌｏｃａｌ/ https://1.0.0.127.in-addr.arpa/ https://host.docker.internal:8443/`),
  ],
  'names that are not well formed': [
    ...rows(`https://foo_bar.com/ https://_dmarc.example.com/ https://-a.com/ https://a-.com/ https://a.-b.com/ https://a.b-/
      https://.example.com/ https://example..com/ https://example.com../ https://./ https://../ https://。/ https://*.example.com/
      https://a!b.com/ https://a$b.com/ https://a&b.com/ https://a'b.com/ https://(a).com/ https://a+b.com/ https://a,b.com/
      https://a;b.com/ https://a=b.com/ https://a~b.com/ https://a"b.com/ https://<a>.com/ https://a^b.com/ https://a|b.com/
      https://{a}.com/ https://a\`b.com/ https://xn--a.com/ https://xn--.com/ https://xn--example-.com/ https://xn--mi7cd0acm.com/
      https://xn--a-ecp.ru/`),
    `https://${'a'.repeat(64)}.com/`,
    `https://${'ü'.repeat(60)}.com/`,
    `https://${`${'a'.repeat(60)}.`.repeat(5)}com/`,
    `https://${'a.'.repeat(126)}aa/`,
  ],
  'more than 2,048 characters': [
    `https://example.com/${'a'.repeat(2029)}`,
    `https://example.com/?${'a'.repeat(1_000_000)}`,
    '\ud800'.repeat(1_000_000),
    'https://'.repeat(100_000),
  ],
}

/** Places the character before, inside and after a valid URL, and in its host. */
function around(character: string): string[] {
  const places = ['https://exa%mple.com/', 'https://example.com/%', '%https://example.com/', 'https://example.com%']
  return places.map((place) => place.replace('%', () => character))
}

const accepted = rows(`
  https://example.com https://example.com/ https://example.net/hook https://example.org?x=1 HTTPS://EXAMPLE.COM
  https://example.com. https://example.com:443/ https://example.com:0443/ https://example.com:/ https://example.com:8443/a/b
  https://hooks.example.com/a?b=c&d=%20e https://example.com/@user https://example.com/?url=http://127.0.0.1/
  https://example.com/%23/%5c/%0a https://example.com//double//../x https://a.b.c.d.e.f.example.co.uk/ https://1.example.com/
  https://3com.com/ https://a-b.com/ https://r3---sn-abc.example.com/ https://bücher.example/ https://xn--bcher-kva.example/
  https://שלום.com/ https://موقع.com/ https://موقع1.وزارة-الأتصالات.مصر/ https://xn--4dbrk0ce.com/ https://xn--p1ai.com/ https://हिन्दी.com/
  https://例え.jp/ https://faß.de/ https://ｅｘａｍｐｌｅ.com/ https://example。com/ https://ex%61mple.com/ https://💩.la/
  https://127.0.0.1.nip.io/ https://localhost.example.com/ https://local.com/ https://notlocal.dev/ https://mail.example.com/
  https://testing.com/ https://internal.example.com/ https://mylocalhost.com/ https://cafe.com/café?q=ü:[]{}|
  https://8.8.8.8/ https://8.8.8.8:8443/ https://1.1.1.1./ https://134744072/ https://0x08080808/ https://①.①.①.①/
  https://9.255.255.255/ https://11.0.0.0/ https://172.15.255.255/ https://172.32.0.0/ https://100.63.255.255/
  https://100.128.0.0/ https://128.0.0.1/ https://126.255.255.255/ https://169.253.255.255/ https://169.255.0.0/
  https://192.0.1.1/ https://192.31.196.1/ https://192.52.193.1/ https://192.175.48.1/ https://198.17.255.255/
  https://198.20.0.0/ https://223.255.255.255/ https://168.63.129.15/ https://192.167.255.255/ https://192.169.0.0/
  https://[2001:4860:4860::8888]/ https://[2606:4700:4700::1111]:8443/ https://[2001:200::1]/ https://[2001:db7::1]/
  https://[2003::1]/ https://[3ffe::1]/ https://[3fff:1000::1]/ https://[2606:4700::7f00:1]/ https://[2606:4700::5efe:8.8.8.8]/
  https://[2620:4f:8000::1]/ https://[2606:4700::8.8.8.8]/ https://[2A00:1450:4001:81b::200E]`).concat(
  `https://${'a'.repeat(63)}.com/`,
  `https://${'a.'.repeat(125)}com/`,
  `https://${'a.'.repeat(125)}com./`,
  `https://example.com/${'a'.repeat(2028)}`,
)

describe('the URL rule refuses', () => {
  for (const [what, urls] of Object.entries(refused)) {
    test(what, () => {
      for (const url of urls) {
        const problem = urlProblem(url, settings)
        assert.ok(problem, JSON.stringify(url).slice(0, 200))
        assert.match(problem, /^(The|This) .*\.$/)
        assert.ok(!url || url.length < 9 || !problem.includes(url), 'the answer does not echo the URL')
      }
    })
  }
})

describe('the URL rule', () => {
  test('accepts public https URLs', () => {
    for (const url of accepted) assert.equal(urlProblem(url, settings), undefined, url)
  })

  test('accepts exactly the configured ports, which need not include 443', () => {
    const ports = { allowPrivate: false, ports: [9443] }
    assert.equal(urlProblem('https://example.com:9443/', ports), undefined)
    for (const url of ['https://example.com/', 'https://example.com:443/'])
      assert.match(urlProblem(url, ports)!, /port/)
  })

  test('allows http, any port and private hosts in development', () => {
    const urls = `http://localhost/ http://localhost:3000/hook https://localhost https://127.0.0.1:1/ http://10.0.0.1 http://[::1]:80/
      http://[fd00::1] http://app:8080/ http://app.local/ https://example.com:6379/ http://0/ http://example.com http://a.test./`
    for (const url of rows(urls)) assert.equal(urlProblem(url, development), undefined, url)
  })

  test('refuses everything else in development too', () => {
    const kinds = ['userinfo', 'fragments', 'backslashes, white space, control and invisible characters']
    const urls = [...kinds, 'more than 2,048 characters', 'names that are not well formed'].flatMap(
      (kind) => refused[kind]!,
    )
    for (const url of [...urls, ...refused['schemes other than https']!.filter((one) => !/^http:/i.test(one))]) {
      assert.ok(urlProblem(url, development), JSON.stringify(url).slice(0, 200))
      if (url.length < 2048) assert.ok(urlProblem(url.replace(/^https:/, 'http:'), development), JSON.stringify(url))
    }
  })

  test('never throws on random strings, and accepts only https, allowed ports and public hosts', () => {
    let taken = 0
    for (let round = 0; round < 40_000; round += 1) {
      const url = randomUrl(round)
      if (urlProblem(url, settings) !== undefined) continue
      taken += 1
      const { protocol, port, hostname, username, password, hash } = new URL(url)
      assert.equal(protocol, 'https:')
      assert.ok(['', '443', '8443'].includes(port), url)
      assert.equal(username + password + hash, '')
      const literal = hostname.startsWith('[') || /^[\d.]+$/.test(hostname)
      if (literal) assert.equal(addressProblem(hostname.replace(/[[\]]/g, '')), undefined, url)
      else assert.doesNotMatch(hostname, /(^|\.)(localhost|internal|local|test)\.?$|[^a-z\d.-]|^[^.]*$/, url)
    }
    assert.ok(taken > 500, `only ${taken} were accepted`)
  })
})

describe('the address rule', () => {
  test('accepts addresses in their plain notation only', () => {
    for (const address of rows(
      '127.1 0x7f.0.0.1 010.0.0.1 2130706433 [::1] ::1%lo 2606:4700::1%eth0 8.8.8.8. 8.8.8.8/8 localhost 1 x',
    )) {
      assert.ok(addressProblem(address), address)
    }
    for (const address of [
      '',
      ' ',
      ' 8.8.8.8',
      '8.8.8.8\n',
      '8.8.8.8\0',
      ':'.repeat(1_000_000),
      '1'.repeat(1_000_000),
    ]) {
      assert.equal(addressProblem(address), 'This is not a plain IP address.')
    }
  })

  test('says why', () => {
    assert.equal(addressProblem('10.0.0.1'), 'The address belongs to a private network (RFC 1918).')
    assert.equal(addressProblem('2606:4700::5efe:7f00:1'), 'The address belongs to the loopback network (RFC 1122).')
    assert.equal(addressProblem('8.8.8.8'), undefined)
  })

  test('judges random IPv6 addresses the same in every notation', () => {
    const random = generator(7)
    for (let round = 0; round < 5000; round += 1) {
      const parts = Array.from({ length: 8 }, () => (random() < 0.4 ? 0 : Math.floor(random() * 0x10000)))
      if (round % 2) parts[0] = 0x2600
      const long = parts.map((part) => part.toString(16).padStart(4, '0')).join(':')
      const short = new URL(`https://[${long}]`).hostname.slice(1, -1)
      assert.equal(addressProblem(short), addressProblem(long.toUpperCase()), long)
    }
  })
})

/** A small seeded generator (mulberry32), so that a failing run can be repeated. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const pieces =
  rows(`https:// https:// https:// http:// https: / // ? # @ : :443 :8443 :80 . 。 [ ] % %2e %31 %00 1 127 0x7f 0177 10 8 8.8.8.8
  example com a.com example.com localhost internal local test xn-- xn--p1ai ü ＡＢ ① - _ :: ::1 2606:4700:: ffff 5efe`).concat(
    ...['\\', ' ', '\t', '\u200b', '\ufeff', '\ud800', '\u{1f600}', ''],
  )

/** Returns a URL-like string half of the time, and random characters otherwise. */
function randomUrl(seed: number): string {
  const random = generator(seed)
  const pick = () => pieces[Math.floor(random() * pieces.length)]!
  const noise = () => String.fromCodePoint(Math.floor(random() * (random() < 0.7 ? 0x80 : 0x110000)))
  const body = Array.from({ length: 1 + Math.floor(random() * 6) }, () => (random() < 0.85 ? pick() : noise())).join('')
  return random() < 0.6 ? `https://${body}` : body
}
