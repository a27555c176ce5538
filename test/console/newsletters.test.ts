import assert from 'node:assert/strict'
import Database from 'better-sqlite3'
import { until } from '../support/harness.ts'
import { consoleTest, during, gate, heading } from './world.ts'

consoleTest('a newsletter is written with a live preview, and sent', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org', name: 'Ada' })
  await data('POST', '/contacts', { email: 'bob@example.org', name: 'Bob' })
  await data('POST', '/email-identities', { email: 'news@example.com', name: 'News' })
  await visit('/console/newsletters')
  await page.getByText('No newsletter yet.').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('Subject').fill('Hello {{ contact.name }}')
  await page.getByRole('button', { name: 'Create draft' }).click()
  await heading(page, 'Hello {{ contact.name }}')
  await page.getByText('2 contacts').waitFor()
  await page.getByText('Hello Ada', { exact: true }).waitFor()

  const html = `<style>p { color: red }</style><p style="color: green">Dear {{ contact.name }}</p><script>1</script>
    <img src="https://example.com/x.png" alt="Logo"><a href="{{ unsubscribe_url }}">Unsubscribe</a>`
  await page.getByLabel('HTML').fill(html)
  await page.getByText('Dear Ada', { exact: true }).waitFor()
  await page.getByText('[picture: Logo]').first().waitFor()
  assert.equal(await page.locator('.mail script, .mail img, .mail style').count(), 0)
  await page.getByLabel('Contact of the preview').selectOption('bob@example.org')
  await page.getByText('Dear Bob', { exact: true }).waitFor()
  await page.getByLabel('Search by name or e-mail').fill('ada@')
  await page.getByText('Dear Ada', { exact: true }).waitFor()
  await page.getByText('Sender and audience: every subscribed contact').click()
  await page.getByLabel('News', { exact: true }).check()
  await page.getByText('Sender and audience: 1 list').waitFor()
  await page.getByText('1 contact', { exact: true }).waitFor()

  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByText('1 of 1 messages are final').waitFor()
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor()
  const { status } = await data<{ status: string }>('GET', '/newsletters/1')
  assert.equal(status, 'sent')
})

consoleTest('a scheduled newsletter gets another time, and offers nothing that is refused', async (world) => {
  const { page, visit, data } = world
  await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
  await visit('/console/newsletters/1')
  const schedule = async (at: string, before = '') => {
    await page.getByRole('button', { name: 'Schedule', exact: true }).click()
    assert.equal(await page.getByLabel('Time, in your time zone').inputValue(), before)
    await page.getByLabel('Time, in your time zone').fill(at)
    await page.getByRole('dialog').getByRole('button', { name: 'Schedule' }).click()
  }
  await schedule('2001-01-01T10:00')
  await page.getByRole('dialog').getByText('This time has passed').waitFor()
  assert.equal(await page.getByLabel('Time, in your time zone').getAttribute('max'), '9999-12-31T23:59')
  await page.keyboard.press('Escape')
  await schedule('2040-01-01T10:00')
  await page.getByText('scheduled', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Pause' }).count(), 0)
  await schedule('2041-01-01T10:00', '2040-01-01T10:00')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const { scheduled_at } = await data<{ scheduled_at: string }>('GET', '/newsletters/1')
  assert.ok(Date.parse(scheduled_at) > Date.UTC(2040, 6), scheduled_at)
  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Keep the newsletter' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal((await data<{ status: string }>('GET', '/newsletters/1')).status, 'scheduled')
  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the newsletter' }).click()
  await page.getByText('cancelled', { exact: true }).waitFor()
})

consoleTest('a scheduled newsletter is previewed as it is written, before it is saved', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org', name: 'Ada' })
  await data('POST', '/newsletters', { subject: 'Hello', html: '<p>Old</p><p>{{ unsubscribe_url }}</p>' })
  await data('POST', '/newsletters/1/send', { at: '2100-01-01T00:00:00Z' })
  await visit('/console/newsletters/1')
  const mail = page.locator('.mail')
  await mail.getByText('Old', { exact: true }).waitFor()
  await data('PATCH', '/newsletters/1', { subject: 'From elsewhere' })
  await page.locator('.compose').getByText('From elsewhere', { exact: true }).waitFor()
  await page.getByLabel('HTML').fill('<p>Dear {{ contact.name }}</p><p>{{ unsubscribe_url }}</p>')
  await mail.getByText('Dear Ada', { exact: true }).waitFor()
  await page.getByLabel('Subject').fill('For {{ contact.nmae }}')
  await page.getByText('There is no variable "contact.nmae".').waitFor()
  assert.equal((await data<{ subject: string }>('GET', '/newsletters/1')).subject, 'From elsewhere')

  await page.getByLabel('Subject').fill('For {{ contact.name }}')
  await page.getByText('For Ada', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('The newsletter is saved.').waitFor()
  await data('POST', '/newsletters/1/cancel')
  await page.locator('.compose fieldset:disabled').first().waitFor()
  await page.getByText('For Ada', { exact: true }).waitFor()
  assert.equal(await page.getByText('A preview needs a subject.').count(), 0)
})

consoleTest('a paused newsletter that is resumed elsewhere shows it', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  const operations = Array.from({ length: 40 }, (_, at) => ({ op: 'upsert', email: `c${at}@example.org`, lists: [1] }))
  await data('POST', '/contacts/batch', { operations })
  await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
  await data('POST', '/newsletters/1/send')
  await data('POST', '/newsletters/1/pause')
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
  await data('POST', '/newsletters/1/resume')
  await page.getByText('40 of 40 messages are final').waitFor()
})

consoleTest('an answer from before an action does not hide its outcome', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
  await data('POST', '/newsletters/1/send', { at: '2100-01-01T00:00:00Z' })
  await visit('/console/newsletters/1')
  await page.getByText('scheduled', { exact: true }).waitFor()
  const [asked, old] = [gate(), gate()]
  const path = '/api/v1/newsletters/1?audience=false'
  let polls = 0
  await during(page, 'GET', path, async (route) => {
    if (++polls > 1) return // never answered
    const response = await route.fetch()
    asked.resolve()
    await old.promise
    await route.fulfill({ response })
  })
  await asked.promise
  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the newsletter' }).click()
  const badge = page.locator('.facts .badge')
  await badge.getByText('cancelled').waitFor()
  const answered = page.waitForResponse(`**${path}`)
  old.resolve()
  await (await answered).finished()
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
  assert.equal(await badge.textContent(), 'cancelled')
})

consoleTest('a test to other addresses does not show the outcome of the last one', async (world) => {
  const { page, visit, data, allowErrors } = world
  allowErrors()
  await data('POST', '/email-identities', { email: 'news@example.com', name: 'News' })
  await data('POST', '/newsletters', { name: 'January', subject: 'Hello', html: '<p>{{ unsubscribe_url }}</p>' })
  await visit('/console/newsletters/1')
  await page.getByRole('button', { name: 'Send test' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Addresses').fill('me@example.org')
  await dialog.getByRole('button', { name: 'Send test' }).click()
  await dialog.getByText('me@example.org: sent').waitFor()
  await dialog.getByLabel('Addresses').fill('me@example.org, you')
  await dialog.getByText('me@example.org: sent').waitFor({ state: 'detached' })
  await dialog.getByRole('button', { name: 'Send test' }).click()
  await dialog.getByRole('alert').waitFor()
  assert.equal(await dialog.getByText('sent').count(), 0)
})

consoleTest('the styles of a mail cannot cover the console', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  const html = `<p style="position: fixed; inset: 0; z-index: 9; background: red">Cover</p>
    <p style="position: absolute; top: -500px; left: -500px; width: 3000px; height: 3000px">More</p>
    <style>:host, :root, nav, p { position: fixed !important; inset: 0; z-index: 9; height: 3000px }</style>
    {{ unsubscribe_url }}`
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html })
  await visit('/console/newsletters/1')
  await page.locator('.mail').getByText('Cover').waitFor()
  await page.getByRole('link', { name: 'Contacts', exact: true }).click() // fails if another element is above
  await heading(page, 'Contacts')
})

consoleTest('no style of a mail in a preview asks for a picture', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  const html = String.raw`<p style="background: url(https://a.example/)">One</p>
    <p style="background: u\72l(https://b.example/)">Two</p>
    <p style="background: image-s\65t('https://c.example/' 1x)">Three</p>
    <p style="--d: u\72l(https://d.example/); background: var(--d)">Four</p>{{ unsubscribe_url }}
    <style>@import url(https://e.example/?a;b); @font-face { font-family: F; src: url(https://f.example/) }
    p { font-family: F; background: url(https://g.example/) } @media screen { p { --h: u\72l(https://h.example/) } }
    p { border-image: var(--h); animation: i 9s; & a { background: url(https://j.example/) } }
    @keyframes i { from { background: url(https://i.example/) } }</style>`
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html })
  await visit('/console/newsletters/1')
  await page.locator('.mail').getByText('Four').waitFor() // a request fails the test
  await page.screenshot() // after the styles are applied
})

consoleTest('a style without an end does not stop the preview', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  const html = `<p>Shown</p>{{ unsubscribe_url }}<style>${'</style '.repeat(60_000)}`
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html })
  await visit('/console/newsletters/1')
  await page.locator('.mail').getByText('Shown').waitFor()
})

consoleTest('styles with thousands of brackets do not crash the preview', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  const html = `<p>Shown</p>{{ unsubscribe_url }}<p style="width: calc${'('.repeat(50_000)}">Inline</p>
    <style>${'a {'.repeat(50_000)}</style><style>${'@media all {'.repeat(10_000)}</style>`
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html })
  await visit('/console/newsletters/1')
  await page.locator('.mail').getByText('Shown').waitFor()
})

consoleTest('the preview keeps the blocks, directions and styles of a mail', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  const html = `<!doctype html><html lang="he" dir="rtl"><head><title>No</title><style>p { color: red }</style></head>
    <body style="color: rgb(1, 2, 3)"><!-- <p title=" --><article>Block</article><section>Other</section>
    <ol start="3" type="a"><li>Third</li></ol><table><tr><td valign="top" dir="ltr">Cell</td></tr></table>
    <p class="a"style="color: rgb(4, 5, 6)">No space</p><p/style='color: rgb(4, 5, 6)'>Slash</p>
    <p title="a > b" style="color: rgb(4, 5, 6)">Quoted</p><p title="a <title b" style="color: rgb(4, 5, 6)">Comment</p><p title=a"b style=color:rgb(4,5,6)>Unquoted</p>
    <p style="color: rgb(4, 5, 6)" style="color: red">Doubled</p><script>'<p title="'</script>
    <p STYLE = "color: rgb(4, 5, 6)">After <q>a < b</q></p>{{ unsubscribe_url }}</body></html>`
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html })
  await visit('/console/newsletters/1')
  const mail = page.locator('.mail')
  const styleOf = (text: string) =>
    mail.getByText(text, { exact: true }).evaluate((one) => {
      const { color, direction, display, verticalAlign } = getComputedStyle(one)
      return { color, direction, display, verticalAlign }
    })
  for (const text of ['No space', 'Slash', 'Quoted', 'Comment', 'Unquoted', 'Doubled', 'After a < b']) {
    assert.equal((await styleOf(text)).color, 'rgb(4, 5, 6)', text)
  }
  for (const text of ['Block', 'Other']) {
    const { color, direction, display } = await styleOf(text)
    assert.deepEqual([color, direction, display], ['rgb(1, 2, 3)', 'rtl', 'block'], text)
  }
  const { direction, verticalAlign } = await styleOf('Cell')
  assert.deepEqual([direction, verticalAlign], ['ltr', 'top'])
  const list = mail.locator('ol')
  assert.deepEqual([await list.getAttribute('start'), await list.getAttribute('type')], ['3', 'a'])
  assert.equal(await mail.getByText('No', { exact: true }).count(), 0)
})

consoleTest('the style sheets of a mail apply to its preview', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  const html = `<html><head><style type="text/css">body { color: rgb(1, 2, 3) } .button, #end { color: rgb(4, 5, 6) }
    @media (min-width: 10px) { .wide { color: rgb(7, 8, 9); background: url(a.png) } } .broken {</style>
    <style media="only screen and (max-width: 10px)">.plain { color: red }</style></head><body><p class="plain">Plain</p>
    <p class="plain button">Button</p><p class="wide">Wide</p><p id="end">End {{ unsubscribe_url }}</p></body></html>`
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html })
  await visit('/console/newsletters/1')
  const mail = page.locator('.mail')
  const colours = { Plain: 'rgb(1, 2, 3)', Button: 'rgb(4, 5, 6)', Wide: 'rgb(7, 8, 9)', End: 'rgb(4, 5, 6)' }
  for (const [text, colour] of Object.entries(colours)) {
    assert.equal(await mail.getByText(text).evaluate((one) => getComputedStyle(one).color), colour, text)
  }
  await page.getByLabel('HTML').fill('<p class="button">Without a sheet</p>{{ unsubscribe_url }}')
  const without = mail.getByText('Without a sheet')
  assert.notEqual(await without.evaluate((one) => getComputedStyle(one).color), 'rgb(4, 5, 6)')
})

consoleTest('the topics of an audience say when a list has more than are shown', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await Promise.all(Array.from({ length: 1001 }, (_, n) => data('POST', '/lists/1/topics', { name: `topic ${n}` })))
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html: '<p>{{ unsubscribe_url }}</p>' })
  await visit('/console/newsletters/1')
  await page.getByText('Sender and audience: every').click()
  await page.getByText('Topics, and who is left out').click()
  await page.getByText('The first 1,000 of more topics of News.').waitFor()
})

consoleTest('an audience is chosen by lists, tags, topics, a segment and who is left out', async (world) => {
  const { page, visit, data } = world
  for (const name of ['News', 'Offers']) await data('POST', '/lists', { name })
  await data('POST', '/lists/1/topics', { name: 'Weekly' })
  await data('POST', '/segments', { name: 'Everyone', filters: {} })
  for (const name of ['ada', 'bob', 'cyd']) {
    await data('POST', '/lists/1/contacts', { email: `${name}@example.org`, tags: ['vip'] })
    if (name !== 'ada') await data('PUT', `/contacts/${name === 'bob' ? 2 : 3}/topics/1`)
  }
  await data('POST', '/lists/2/contacts', { email: 'bob@example.org' })
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html: '<p>{{ unsubscribe_url }}</p>' })
  await visit('/console/newsletters/1')
  await page.getByText('3 contacts', { exact: true }).waitFor()
  await page.getByText('Sender and audience: every').click()
  await page.getByRole('group', { name: 'On any of these lists' }).getByLabel('News').check()
  await page.getByRole('group', { name: 'With any of these tags' }).getByLabel('vip').check()
  await page.getByLabel('In the segment').selectOption('Everyone')
  await page.getByText('Topics, and who is left out').click()
  await page.getByLabel('Weekly (News)').check()
  await page.getByText('2 contacts', { exact: true }).waitFor()
  await page.getByRole('group', { name: 'On none of these lists' }).getByLabel('Offers').check()
  await page.getByText('1 contact', { exact: true }).waitFor()
  const audience = async () => (await data<{ audience: object }>('GET', '/newsletters/1')).audience
  const chosen = { lists: [1], tags: [1], topics: [1], exclude_lists: [2], segment: 1 }
  assert.deepEqual(await audience(), chosen)

  await data('PATCH', '/newsletters/1', { audience: { ...chosen, tags: [1, 99] } })
  await page.reload()
  await page.getByText('Sender and audience').click()
  await page.getByLabel('#99').waitFor()
  const leftOut = page.getByRole('group', { name: 'On none of these lists' }).locator('label')
  await leftOut.nth(1).waitFor()
  assert.deepEqual(await leftOut.allInnerTexts(), ['Offers', 'News'], 'chosen ones are first')
  await page.getByLabel('Subject').fill('Hi again')
  await page.keyboard.press('Tab')
  await heading(page, 'January')
  while ((await data<{ subject: string }>('GET', '/newsletters/1')).subject !== 'Hi again') await page.title()
  assert.deepEqual(await audience(), { ...chosen, tags: [1, 99] })

  await page.reload()
  await page.getByLabel('Subject').fill('Hi once more') // the audience is not opened
  await page.getByRole('button', { name: 'Save' }).click()
  while ((await data<{ subject: string }>('GET', '/newsletters/1')).subject !== 'Hi once more') await page.title()
  assert.deepEqual(await audience(), { ...chosen, tags: [1, 99] })
})

consoleTest('what is written last is what is sent', async ({ page, visit, data }) => {
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/newsletters', { name: 'January', subject: 'Hi', html: '<p>{{ unsubscribe_url }}</p>' })
  await visit('/console/newsletters/1')
  await page.getByLabel('Subject').fill('Written at the last moment')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByText('1 of 1 messages are final').waitFor()
  assert.equal((await data<{ subject: string }>('GET', '/newsletters/1')).subject, 'Written at the last moment')
})

consoleTest('what is not saved cannot be sent', async ({ page, visit, data, allowErrors }) => {
  allowErrors()
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/newsletters', { subject: 'Hi', html: '<a href="{{ unsubscribe_url }}">Leave</a>' })
  await visit('/console/newsletters/1')
  await page.locator('.mail').getByText('Leave').waitFor()
  const html = page.getByLabel('HTML')
  await page.route('**/api/v1/newsletters/1', (route) => {
    return route.request().method() === 'PATCH' ? route.fulfill({ status: 503, body: '{}' }) : route.continue()
  })
  await html.fill('<p>New</p><a href="{{ unsubscribe_url }}">Leave</a>')
  await page.getByText('The last change is not saved.').waitFor()
  await page.getByRole('alert').getByText('The server answered 503.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0)

  await page.unroute('**/api/v1/newsletters/1')
  await html.press('End')
  await html.pressSequentially(' ')
  await page.locator('.mail').getByText('New').waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
})

consoleTest('a sequence gets steps, is resumed and stopped for a contact', async ({ page, visit, data }) => {
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/contacts', { email: 'bob@example.org' })
  await visit('/console/sequences')
  await page.getByText('No sequence yet.').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('Name', { exact: true }).fill('Welcome')
  await page.getByLabel('Contacts who join this list are enrolled').selectOption('News')
  await page.getByRole('button', { name: 'Create sequence' }).click()
  await heading(page, 'Welcome')
  await page.getByRole('link', { name: 'News', exact: true }).waitFor()
  await page.keyboard.press('n')
  await page.getByText('A preview needs a subject.').waitFor()
  await page.getByLabel('Subject').fill('First')
  await page.getByLabel('HTML').fill('<p>Welcome, {{ contact.email }}</p><a href="{{ unsubscribe_url }}">Leave</a>')
  await page.getByText('Welcome, bob@example.org', { exact: true }).waitFor()
  await page.getByLabel('Hours after the enrolment').fill('0.5')
  await page.getByRole('button', { name: 'Save step' }).click()
  await page.getByText('30 min after the enrolment').waitFor()
  await page.getByRole('button', { name: 'New step' }).click()
  await page.getByLabel('Hours after the step before').waitFor()
  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('active', { exact: true }).waitFor()
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org' })
  await page.reload()
  await page.getByText('Enrolments', { exact: true }).click()
  await page.getByRole('button', { name: 'Stop the enrolment of ada@example.org' }).click()
  await page.getByRole('dialog').getByText('ada@example.org gets no further step.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click()
  await page.getByText('The enrolment is stopped.').waitFor()
  assert.deepEqual(
    (await data<{ status: string }[]>('GET', '/sequences/1/enrolments')).map(({ status }) => status),
    ['stopped'],
  )
})

consoleTest('a sequence gets another name, list and sender, and a contact by hand', async ({ page, visit, data }) => {
  for (const name of ['News', 'Offers']) await data('POST', '/lists', { name })
  for (const name of ['news', 'offers']) await data('POST', '/email-identities', { email: `${name}@example.com` })
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/sequences', { name: 'Welcome', list_id: 1, reply_to: 'team@example.com' })
  const content = { delay_seconds: 3600, html: '<a href="{{ unsubscribe_url }}">Leave</a>' }
  const steps = ['First', 'Second'].map((subject) => ({ ...content, subject }))
  await data('PUT', '/sequences/1/steps', { steps })
  await visit('/console/sequences/1')
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('From').selectOption('offers@example.com')
  assert.equal(await page.getByLabel('Reply to').inputValue(), 'team@example.com')
  await page.getByLabel('Name', { exact: true }).fill('Good morning')
  await page.getByLabel('Contacts who join this list are enrolled').selectOption('Offers')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await heading(page, 'Good morning')
  await page.getByRole('link', { name: 'Offers', exact: true }).waitFor()
  const sequence = () => data<Record<string, unknown> & { steps: { subject: string }[] }>('GET', '/sequences/1')
  const { list_id, from_identity_id, reply_to } = await sequence()
  assert.deepEqual(
    { list_id, from_identity_id, reply_to },
    {
      list_id: 2,
      from_identity_id: 2,
      reply_to: 'team@example.com',
    },
  )

  await page.getByRole('button', { name: 'Move up Second' }).click()
  await page.getByText('The steps are saved.').waitFor()
  assert.deepEqual(
    (await sequence()).steps.map(({ subject }) => subject),
    ['Second', 'First'],
  )

  await page.getByText('Enrolments', { exact: true }).click()
  await page.getByText('No contact is enrolled.').waitFor()
  await page.getByLabel('E-mail of a contact to enrol').fill('ada@example.org')
  await page.getByRole('button', { name: 'Enrol', exact: true }).click()
  await page.getByRole('link', { name: 'ada@example.org' }).waitFor()
})

consoleTest('a sequence shows its messages, and uncertain ones are settled', async ({ page, visit, data, file }) => {
  await data('POST', '/lists', { name: 'News' })
  await data('POST', '/email-identities', { email: 'news@example.com', name: 'News' })
  await data('POST', '/sequences', { name: 'Welcome', list_id: 1 })
  const step = { delay_seconds: 0, subject: 'Hi', html: '<a href="{{ unsubscribe_url }}">Leave</a>' }
  await data('PUT', '/sequences/1/steps', { steps: [step] })
  await data('PATCH', '/sequences/1', { status: 'active' })
  await visit('/console/sequences/1')
  await page.getByText('Messages', { exact: true }).click()
  await page.getByText('No message yet.').waitFor()
  await data('POST', '/lists/1/contacts', { email: 'ada@example.org' })
  const messages = () => data<{ status: string }[]>('GET', '/sequences/1/messages')
  await until(messages, ([first]) => first?.status === 'sent')
  await page.reload()
  await page.getByText('Messages', { exact: true }).click()
  await page.getByRole('cell', { name: 'sent', exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Skip uncertain' }).count(), 0)
  const status = page.getByLabel('Status of messages')
  await status.selectOption('failed')
  await page.getByText('No message matches.').waitFor()
  await status.selectOption('Any status')
  await page.getByRole('cell', { name: 'sent', exact: true }).waitFor()

  // As after a process that died while it handed the message over.
  const database = new Database(file)
  database.prepare(`update mailkeep_message set status = 'uncertain', sent_at = null`).run()
  database.close()
  await page.reload()
  await page.getByText('Messages', { exact: true }).click()
  await page.getByRole('button', { name: 'Skip uncertain' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Skip them' }).click()
  await page.getByText('The uncertain messages are skipped.').waitFor()
  await page.getByRole('cell', { name: 'skipped', exact: true }).waitFor()
  assert.equal((await messages())[0]?.status, 'skipped')
  await page.setViewportSize({ width: 375, height: 780 }) // the column for it does not fit
  await page.getByRole('cell').getByText('uncertain', { exact: true }).waitFor()
})

consoleTest('uncertain messages of a paused newsletter are sent again only after a question', async (world) => {
  const { page, visit, data, file } = world
  await data('POST', '/contacts', { email: 'ada@example.org' })
  await data('POST', '/email-identities', { email: 'news@example.com', name: 'News' })
  await data('POST', '/newsletters', { subject: 'Hi', html: '<a href="{{ unsubscribe_url }}">Leave</a>' })
  await data('POST', '/newsletters/1/send')
  const newsletter = () => data<{ status: string; counts: { uncertain: number } }>('GET', '/newsletters/1')
  await until(newsletter, ({ status }) => status === 'sent')
  // As after a process that died while it handed the message over, and a pause.
  const database = new Database(file)
  database.prepare(`update mailkeep_message set status = 'uncertain', sent_at = null`).run()
  database
    .prepare(`update mailkeep_newsletter set status = 'paused', sent = 0, uncertain = 1, finished_at = null`)
    .run()
  database.close()
  await visit('/console/newsletters/1')

  const dialog = page.getByRole('dialog')
  for (const [button, warning] of [
    ['Skip uncertain', 'This cannot be undone.'],
    ['Resend uncertain', 'Contacts may get the mail twice.'],
  ] as const) {
    await page.getByRole('button', { name: button }).click()
    await dialog.getByText(warning).waitFor()
    await dialog.getByText('The newsletter is paused. It is resumed, too.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  }
  const { status, counts } = await newsletter()
  assert.deepEqual([status, counts.uncertain], ['paused', 1])

  await page.getByRole('button', { name: 'Resend uncertain' }).click()
  await dialog.getByRole('button', { name: 'Send again' }).click()
  await page.getByText('The uncertain messages are sent again.').waitFor()
  await until(newsletter, (found) => found.status === 'sent' && found.counts.uncertain === 0)
})

consoleTest('a sender identity is created and deleted', async ({ page, visit, data }) => {
  await visit('/console/identities')
  await page.getByText('No sender identity yet.').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('E-mail').fill('news@example.com')
  await page.getByRole('button', { name: 'Create identity' }).click()
  await page.getByRole('button', { name: 'Refresh news@example.com' }).click()
  await page.getByText('It is still pending.').waitFor()
  await page.getByRole('button', { name: 'Delete news@example.com' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No sender identity yet.').waitFor()
  assert.deepEqual(await data('GET', '/email-identities'), [])
})
