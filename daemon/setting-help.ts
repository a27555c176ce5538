import { defaultMailSettings as mail, defaultWebhookSettings as webhooks } from '../lib/index.ts'
import { type SettingName, Settings } from './settings.ts'

interface SettingHelp {
  /** Placeholder for the value. */
  readonly value: string
  /** Meaning, with the unit. */
  readonly about: string
  /** Default, written as a user would write it. */
  readonly default: string
  readonly example: string
}

const { entries } = Settings

export const settingHelp: Readonly<Record<SettingName, SettingHelp>> = {
  HOST: { value: 'ADDRESS', about: 'Address to listen on', default: entries.HOST.default, example: '0.0.0.0' },
  PORT: {
    value: 'PORT',
    about: 'Port to listen on; 0 chooses a free port and prints it',
    default: entries.PORT.default,
    example: '80',
  },
  DATABASE: {
    value: 'PATH',
    about: 'SQLite file; a PostgreSQL URL is only accepted in the variable',
    default: entries.DATABASE.default,
    example: '/var/lib/mailkeep/mailkeep.db',
  },
  DATABASE_SCHEMA: {
    value: 'NAME',
    about: 'PostgreSQL: schema of the tables, created when missing',
    default: "the first of the role's search path",
    example: 'mailkeep',
  },
  DATABASE_CONNECTIONS: {
    value: 'NUMBER',
    about:
      'PostgreSQL: maximum connections, besides one for notifications. One client uses at most nine of ten at a time',
    default: '10',
    example: '20',
  },
  DATABASE_POOLER: {
    value: 'true|false',
    about: 'PostgreSQL: whether connections go through a pooler',
    default: 'false',
    example: 'true',
  },
  COPY_TO: {
    value: 'URL',
    about: 'PostgreSQL database that `mailkeep copy` copies to',
    default: 'none',
    example: 'postgres://mailkeep:…@db/mailkeep',
  },
  PUBLIC_URL: {
    value: 'URL',
    about: 'URL that clients and contacts see, for links; set it behind a TLS proxy',
    default: "http:// and the request's Host; in links to contact pages the daemon's own address, on loopback only",
    example: 'https://mail.example.com',
  },
  TRUST_PROXY: {
    value: 'true|false',
    about:
      "Whether the proxy in front sets X-Forwarded-For; its last address then counts as the contact's on contact pages",
    default: entries.TRUST_PROXY.default,
    example: 'true',
  },
  ADMIN_TOKEN: {
    value: 'TOKEN',
    about: 'First admin token, at least 32 characters; used only on an empty database',
    default: 'a random one',
    example: '"$(openssl rand -hex 32)"',
  },
  ENCRYPTION_KEY: {
    value: 'KEY',
    about: 'Base64 of 32 bytes, which encrypts stored secrets; required with PostgreSQL',
    default: 'a key file beside the SQLite file',
    example: '"$(openssl rand -base64 32)"',
  },
  PREVIOUS_ENCRYPTION_KEY: {
    value: 'KEY',
    about: 'The previous encryption key, until `mailkeep secrets reseal` is done',
    default: 'none',
    example: '"$(cat old.key)"',
  },
  LOG_LEVEL: {
    value: 'LEVEL',
    about: 'trace, debug, info, warn, error, fatal or silent',
    default: 'info for serve and dispatch, warn for other commands',
    example: 'debug',
  },
  METRICS_TOKEN: {
    value: 'TOKEN',
    about: 'Bearer token that /metrics requires if this is set',
    default: 'none',
    example: '"$(openssl rand -hex 32)"',
  },
  DISPATCH: {
    value: 'true|false',
    about: 'Whether serve delivers webhooks and sends mail; dispatch does in any case',
    default: entries.DISPATCH.default,
    example: 'false',
  },
  PROCESSES: {
    value: 'NUMBER|auto',
    about: 'Processes of serve that answer requests; auto: one for each core. The first of them delivers',
    default: entries.PROCESSES.default,
    example: 'auto',
  },
  CONSOLE: {
    value: 'true|false',
    about: 'Whether the web console is served at / and the documentation at /docs',
    default: entries.CONSOLE.default,
    example: 'false',
  },
  PORTAL_ORIGINS: {
    value: 'ORIGINS',
    about: 'Origins of pages that may embed the portal of customers, with commas between',
    default: 'none',
    example: 'https://app.example.com',
  },
  WEBHOOK_ALLOW_PRIVATE: {
    value: 'true|false',
    about: 'Development only: allow http, any port and private hosts',
    default: String(webhooks.allowPrivate),
    example: 'true',
  },
  WEBHOOK_PORTS: {
    value: 'PORTS',
    about: 'Ports that webhook URLs may have, separated by commas',
    default: webhooks.ports.join(),
    example: '443,9443',
  },
  WEBHOOK_RETRY_SCHEDULE: {
    value: 'SECONDS',
    about: 'Seconds before attempt 2, 3, …, separated by commas; none for a single attempt',
    default: webhooks.retryScheduleSeconds.join(),
    example: '5,60,3600',
  },
  WEBHOOK_TIMEOUT_SECONDS: {
    value: 'SECONDS',
    about: 'Seconds that one delivery attempt may take',
    default: String(webhooks.timeoutSeconds),
    example: '10',
  },
  WEBHOOK_CONCURRENCY: {
    value: 'NUMBER',
    about: 'Maximum webhook requests in flight, in all',
    default: String(webhooks.concurrency),
    example: '128',
  },
  WEBHOOK_ENDPOINT_CONCURRENCY: {
    value: 'NUMBER',
    about: 'Maximum webhook requests in flight to one endpoint',
    default: String(webhooks.endpointConcurrency),
    example: '16',
  },
  WEBHOOK_DISABLE_AFTER_FAILURES: {
    value: 'NUMBER',
    about: 'Failed attempts in a row after which an endpoint is switched off',
    default: String(webhooks.disableAfterFailures),
    example: '50',
  },
  WEBHOOK_DISABLE_AFTER_HOURS: {
    value: 'HOURS',
    about: 'Hours since the first of those failures before it is switched off; 0: immediately',
    default: String(webhooks.disableAfterHours),
    example: '48',
  },
  ENDPOINTS_PER_CLIENT: {
    value: 'NUMBER',
    about: 'Maximum webhook endpoints of one client',
    default: String(webhooks.endpointsPerClient),
    example: '200',
  },
  TEST_DELIVERIES_PER_MINUTE: {
    value: 'NUMBER',
    about: 'Maximum test deliveries of a client in any 60 seconds',
    default: String(webhooks.testDeliveriesPerMinute),
    example: '60',
  },
  DELIVERY_RETENTION_DAYS: {
    value: 'DAYS',
    about: 'Days that deliveries are kept',
    default: String(webhooks.retentionDays),
    example: '90',
  },
  MAIL_TRANSPORT: {
    value: 'TRANSPORT',
    about: 'How mail is sent: folder:PATH writes .eml files, smtp, ses, or none',
    default: 'smtp with an SMTP URL, else the folder `mail` beside the SQLite file; with PostgreSQL none',
    example: 'smtp',
  },
  SMTP_URL: {
    value: 'URL',
    about: 'SMTP server; smtp: requires STARTTLS unless it is on this machine, smtps: is TLS from the start',
    default: 'none',
    example: 'smtp://user:…@smtp.example.com:587',
  },
  MAIL_RATE: {
    value: 'NUMBER',
    about: 'Maximum messages a second, in all and of one sender identity',
    default: String(mail.rate),
    example: '50',
  },
  MAIL_CONNECTIONS: {
    value: 'NUMBER',
    about: 'Maximum connections to the mail server',
    default: String(mail.connections),
    example: '10',
  },
  MAIL_ALLOW_UNVERIFIED: {
    value: 'true|false',
    about: 'Development only: send from addresses that are not verified',
    default: String(mail.allowUnverified),
    example: 'true',
  },
  POSTAL_ADDRESS: {
    value: 'TEXT',
    about: 'Postal address that templates show as client.postal_address',
    default: 'none',
    example: "'Acme Ltd, 1 High Street, London'",
  },
  SES_TOPICS: {
    value: 'ARNS',
    about: 'SNS topics whose bounces and complaints of Amazon SES are accepted, separated by commas',
    default: 'none',
    example: 'arn:aws:sns:eu-central-1:123456789012:bounces',
  },
}
