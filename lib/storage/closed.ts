/** What calls get while mailkeep closes, and after it. */
export const closedMessage = 'mailkeep is shutting down, or is closed.'
