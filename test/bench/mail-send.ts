/** Sends mail to an SMTP server on this machine: a newsletter from a database, or the same message by nodemailer alone. */
import { createTransport } from 'nodemailer'
import { createMailkeep } from '../../lib/index.ts'
import { toPlainText } from '../../lib/sending/plain-text.ts'
import { smtp } from '../../lib/sending/transports/smtp.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { newsletterHtml } from './mail-content.ts'
import { encryptionKey } from './population.ts'

const connections = 10
const [, , port, file] = process.argv as [string, string, string, string | undefined]

/** Keeps every connection of nodemailer's own pool busy, and stores nothing. */
async function sendBare(pool: Pool): Promise<void> {
  const html = newsletterHtml.replace('{{ unsubscribe_url }}', `https://mail.example.com/c/${'x'.repeat(100)}`)
  const text = toPlainText(html)
  for (;;) await pool.sendMail({ from: 'news@acme.example', to: 'ada@example.org', subject: 'News', html, text })
}

type Pool = ReturnType<typeof bare>
const bare = () => createTransport({ host: '127.0.0.1', port: Number(port), pool: true, maxConnections: connections })

if (file === undefined) {
  const pool = bare()
  for (let n = 0; n < connections; n++) void sendBare(pool)
} else {
  const transport = smtp({ url: `smtp://127.0.0.1:${port}`, connections })
  const mailkeep = createMailkeep({
    database: sqlite(file),
    encryptionKey,
    publicUrl: 'https://mail.example.com',
    mail: { transport, connections, rate: 1_000_000, allowUnverified: true },
  })
  void mailkeep.then((opened) => opened.start())
}
process.on('disconnect', () => process.exit())
