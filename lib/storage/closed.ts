/** Error message of calls during and after the shutdown. */
export const closedMessage = 'mailkeep is shutting down, or is closed.'
