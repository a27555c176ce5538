/** The mail that asks a contact to confirm a subscription (double opt-in). */
import type { PageLanguage } from '../pages/schema.ts'
import { escapeHtml, oneLine } from './escape.ts'

interface ConfirmationMailInput {
  readonly clientName: string
  readonly listName: string
  /** The link to the page with the confirmation button. */
  readonly confirmUrl: string
}

interface Texts {
  readonly subject: (list: string) => string
  readonly request: (list: string, client: string) => string
  readonly button: string
  readonly ignore: string
}

const texts: Readonly<Record<PageLanguage, Texts>> = {
  en: {
    subject: (list) => `Please confirm your subscription to ${list}`,
    request: (list, client) => `You asked to receive ${list} from ${client}. Please confirm that this is your address.`,
    button: 'Confirm subscription',
    ignore: 'If you did not ask for this, ignore this mail. Without your confirmation you receive nothing.',
  },
  de: {
    subject: (list) => `Bitte bestätigen Sie Ihre Anmeldung zu ${list}`,
    request: (list, client) =>
      `Sie möchten ${list} von ${client} erhalten. Bitte bestätigen Sie, dass dies Ihre Adresse ist.`,
    button: 'Anmeldung bestätigen',
    ignore: 'Falls Sie das nicht waren, ignorieren Sie diese Mail. Ohne Ihre Bestätigung erhalten Sie nichts.',
  },
  fr: {
    subject: (list) => `Veuillez confirmer votre inscription à ${list}`,
    request: (list, client) =>
      `Vous avez demandé à recevoir ${list} de ${client}. Veuillez confirmer que cette adresse est la vôtre.`,
    button: 'Confirmer l’inscription',
    ignore:
      'Si vous n’êtes pas à l’origine de cette demande, ignorez ce message. Sans confirmation, vous ne recevrez rien.',
  },
  es: {
    subject: (list) => `Confirme su suscripción a ${list}`,
    request: (list, client) => `Ha solicitado recibir ${list} de ${client}. Confirme que esta es su dirección.`,
    button: 'Confirmar la suscripción',
    ignore: 'Si no lo ha solicitado, ignore este mensaje. Sin su confirmación no recibirá nada.',
  },
}

/** Returns the mail in a language. Names of lists and clients are data: they are escaped, and cannot add lines. */
export function confirmationMail(language: PageLanguage, input: ConfirmationMailInput) {
  const { subject, request, button, ignore } = texts[language]
  const list = oneLine(input.listName)
  const client = oneLine(input.clientName)
  const url = input.confirmUrl
  return {
    subject: subject(list),
    html: `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><title>${escapeHtml(subject(list))}</title></head>
<body style="font-family:sans-serif;font-size:16px;line-height:1.5">
<p>${escapeHtml(request(list, client))}</p>
<p><a href="${escapeHtml(url)}" style="display:inline-block;padding:12px 20px;background:#0b57d0;color:#ffffff;text-decoration:none;border-radius:4px">${escapeHtml(button)}</a></p>
<p>${escapeHtml(url)}</p>
<p>${escapeHtml(ignore)}</p>
</body>
</html>
`,
    text: `${request(list, client)}\n\n${button}: ${url}\n\n${ignore}\n`,
  }
}
