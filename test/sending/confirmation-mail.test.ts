/** The mail that asks for a confirmation, in every language. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pageLanguages } from '../../lib/index.ts'
import { confirmationMail } from '../../lib/sending/confirmation-mail.ts'
import { toPlainText } from '../../lib/sending/plain-text.ts'

const confirmUrl = 'https://mail.example.org/c/TOKEN/confirm?a=1&b=2'

describe('the confirmation mail', () => {
  test('differs by language, and names list, client and link in each', () => {
    const mails = pageLanguages.map((language) => {
      const mail = confirmationMail(language, { clientName: 'Acme', listName: 'Weekly', confirmUrl })
      assert.match(mail.subject, /Weekly/)
      for (const shown of [mail.text, toPlainText(mail.html)]) {
        for (const part of ['Weekly', 'Acme', confirmUrl]) assert.ok(shown.includes(part), `${language}: ${part}`)
      }
      assert.match(mail.html, new RegExp(`<html lang="${language}">`))
      assert.match(mail.html, /href="https:\/\/mail\.example\.org\/c\/TOKEN\/confirm\?a=1&amp;b=2"/)
      return mail
    })
    assert.equal(new Set(mails.map(({ subject }) => subject)).size, 4)
    assert.equal(new Set(mails.map(({ text }) => text)).size, 4)
  })

  test('names are escaped, and cannot add lines', () => {
    const { subject, html, text } = confirmationMail('en', {
      clientName: 'A\r\nBcc: eve@example.org',
      listName: '<script>alert(1)</script>"\n\u2028x',
      confirmUrl,
    })
    assert.doesNotMatch(subject, /[\r\n\u2028]/)
    assert.doesNotMatch(html, /<script|^Bcc/m)
    assert.doesNotMatch(text, /^Bcc/m)
  })

  test('sets no colour without its ground, so that it can be read in dark mail programs', () => {
    const { html } = confirmationMail('en', { clientName: 'Acme', listName: 'Weekly', confirmUrl })
    const styles = [...html.matchAll(/style="([^"]*)"/g)].map(([, style = '']) => style)
    for (const style of styles.filter((one) => /(?:^|;)color:/.test(one))) assert.match(style, /background:/)
  })
})
