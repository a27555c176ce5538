/** The built-in texts of the pages. Clients may replace those of `PageTextName`. */
import { type PageLanguage, type PageTextName, pageLanguages } from '../../lib/index.ts'

/** Texts of pages that belong to no client. */
type ErrorTextName =
  | 'broken_link_title'
  | 'broken_link_text'
  | 'too_many_title'
  | 'too_many_text'
  | 'failed_title'
  | 'failed_text'

export type TextName = PageTextName | ErrorTextName

export const builtInTexts: Readonly<Record<PageLanguage, Readonly<Record<TextName, string>>>> = {
  en: {
    unsubscribe_title: 'Unsubscribe',
    unsubscribe_text: 'Do you want to stop all e-mails to {email}?',
    unsubscribe_button: 'Unsubscribe',
    unsubscribed_title: 'You are unsubscribed',
    unsubscribed_text: 'No more e-mails will be sent to {email}.',
    resubscribe_hint: 'Was this a mistake? You can subscribe again.',
    resubscribe_button: 'Subscribe again',
    resubscribed_title: 'You are subscribed again',
    resubscribed_text: 'E-mails will be sent to {email} again.',
    preferences_title: 'Your e-mails',
    preferences_text: 'Choose what is sent to {email}.',
    preferences_empty: '{email} is on no list.',
    preferences_button: 'Save',
    preferences_saved: 'Your choices are saved.',
    unsubscribe_all_text: 'You can also stop all e-mails at once.',
    unsubscribe_all_button: 'Unsubscribe from everything',
    confirm_title: 'Confirm your subscription',
    confirm_text: 'Please confirm that you want to receive “{list}” at {email}.',
    confirm_button: 'Confirm',
    confirmed_title: 'Your subscription is confirmed',
    confirmed_text: '“{list}” will be sent to {email}.',
    broken_link_title: 'This link does not work',
    broken_link_text: 'It is incomplete or no longer valid. Open the link in the e-mail again, or reply to its sender.',
    too_many_title: 'Too many requests',
    too_many_text: 'Please wait a minute, then try again.',
    failed_title: 'Something went wrong',
    failed_text: 'Nothing has been changed. Please try again later.',
  },
  de: {
    unsubscribe_title: 'Abmelden',
    unsubscribe_text: 'Möchten Sie alle E-Mails an {email} abbestellen?',
    unsubscribe_button: 'Abmelden',
    unsubscribed_title: 'Sie sind abgemeldet',
    unsubscribed_text: 'An {email} werden keine E-Mails mehr gesendet.',
    resubscribe_hint: 'War das ein Versehen? Sie können sich wieder anmelden.',
    resubscribe_button: 'Wieder anmelden',
    resubscribed_title: 'Sie sind wieder angemeldet',
    resubscribed_text: 'An {email} werden wieder E-Mails gesendet.',
    preferences_title: 'Ihre E-Mails',
    preferences_text: 'Wählen Sie aus, was an {email} gesendet wird.',
    preferences_empty: '{email} steht auf keiner Liste.',
    preferences_button: 'Speichern',
    preferences_saved: 'Ihre Auswahl ist gespeichert.',
    unsubscribe_all_text: 'Sie können auch alle E-Mails auf einmal abbestellen.',
    unsubscribe_all_button: 'Von allem abmelden',
    confirm_title: 'Anmeldung bestätigen',
    confirm_text: 'Bitte bestätigen Sie, dass Sie „{list}“ an {email} erhalten möchten.',
    confirm_button: 'Bestätigen',
    confirmed_title: 'Ihre Anmeldung ist bestätigt',
    confirmed_text: '„{list}“ wird an {email} gesendet.',
    broken_link_title: 'Dieser Link funktioniert nicht',
    broken_link_text:
      'Er ist unvollständig oder nicht mehr gültig. Öffnen Sie den Link in der E-Mail noch einmal, oder antworten Sie dem Absender.',
    too_many_title: 'Zu viele Anfragen',
    too_many_text: 'Bitte warten Sie eine Minute und versuchen Sie es dann noch einmal.',
    failed_title: 'Etwas ist schiefgegangen',
    failed_text: 'Es wurde nichts geändert. Bitte versuchen Sie es später noch einmal.',
  },
  fr: {
    unsubscribe_title: 'Se désabonner',
    unsubscribe_text: 'Voulez-vous ne plus recevoir d’e-mails à l’adresse {email} ?',
    unsubscribe_button: 'Se désabonner',
    unsubscribed_title: 'Vous êtes désabonné(e)',
    unsubscribed_text: 'Plus aucun e-mail ne sera envoyé à {email}.',
    resubscribe_hint: 'C’était une erreur ? Vous pouvez vous réabonner.',
    resubscribe_button: 'Se réabonner',
    resubscribed_title: 'Vous êtes de nouveau abonné(e)',
    resubscribed_text: 'Des e-mails seront de nouveau envoyés à {email}.',
    preferences_title: 'Vos e-mails',
    preferences_text: 'Choisissez ce qui est envoyé à {email}.',
    preferences_empty: '{email} ne figure sur aucune liste.',
    preferences_button: 'Enregistrer',
    preferences_saved: 'Vos choix sont enregistrés.',
    unsubscribe_all_text: 'Vous pouvez aussi arrêter tous les e-mails en une fois.',
    unsubscribe_all_button: 'Se désabonner de tout',
    confirm_title: 'Confirmez votre abonnement',
    confirm_text: 'Veuillez confirmer que vous souhaitez recevoir « {list} » à l’adresse {email}.',
    confirm_button: 'Confirmer',
    confirmed_title: 'Votre abonnement est confirmé',
    confirmed_text: '« {list} » sera envoyé à {email}.',
    broken_link_title: 'Ce lien ne fonctionne pas',
    broken_link_text:
      'Il est incomplet ou n’est plus valable. Ouvrez de nouveau le lien dans l’e-mail, ou répondez à l’expéditeur.',
    too_many_title: 'Trop de requêtes',
    too_many_text: 'Veuillez patienter une minute, puis réessayer.',
    failed_title: 'Une erreur s’est produite',
    failed_text: 'Rien n’a été modifié. Veuillez réessayer plus tard.',
  },
  es: {
    unsubscribe_title: 'Darse de baja',
    unsubscribe_text: '¿Quiere dejar de recibir todos los correos en {email}?',
    unsubscribe_button: 'Darse de baja',
    unsubscribed_title: 'Se ha dado de baja',
    unsubscribed_text: 'No se enviarán más correos a {email}.',
    resubscribe_hint: '¿Ha sido un error? Puede volver a suscribirse.',
    resubscribe_button: 'Volver a suscribirse',
    resubscribed_title: 'Se ha suscrito de nuevo',
    resubscribed_text: 'Se volverán a enviar correos a {email}.',
    preferences_title: 'Sus correos',
    preferences_text: 'Elija qué se envía a {email}.',
    preferences_empty: '{email} no está en ninguna lista.',
    preferences_button: 'Guardar',
    preferences_saved: 'Sus preferencias se han guardado.',
    unsubscribe_all_text: 'También puede dejar de recibir todos los correos a la vez.',
    unsubscribe_all_button: 'Darse de baja de todo',
    confirm_title: 'Confirme su suscripción',
    confirm_text: 'Confirme que quiere recibir «{list}» en {email}.',
    confirm_button: 'Confirmar',
    confirmed_title: 'Su suscripción está confirmada',
    confirmed_text: '«{list}» se enviará a {email}.',
    broken_link_title: 'Este enlace no funciona',
    broken_link_text:
      'Está incompleto o ya no es válido. Vuelva a abrir el enlace del correo o responda a quien lo envió.',
    too_many_title: 'Demasiadas solicitudes',
    too_many_text: 'Espere un minuto y vuelva a intentarlo.',
    failed_title: 'Algo ha salido mal',
    failed_text: 'No se ha cambiado nada. Vuelva a intentarlo más tarde.',
  },
}

/** Returns the best language for an `Accept-Language` header (RFC 9110, 12.5.4): the first of equals; else English. */
export function languageOf(accepted: string): PageLanguage {
  let best: { language: PageLanguage; weight: number } | undefined
  for (const range of accepted.split(',')) {
    const [, tag, quality = '1'] = /^\s*([a-z]+|\*)(?:-[a-z\d-]+)?\s*(?:;\s*q=([\d.]+)\s*)?$/i.exec(range) ?? []
    const language = tag === '*' ? 'en' : pageLanguages.find((name) => name === tag?.toLowerCase())
    const weight = Number(quality)
    if (language && weight > (best?.weight ?? 0)) best = { language, weight }
  }
  return best?.language ?? 'en'
}
