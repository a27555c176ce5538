import type { Token } from '../../lib/index.ts'
import { Complaint } from '../complaint.ts'
import { type Command, clientFlag, idFrom, table, withMailkeep } from './command.ts'

const createToken: Command = {
  usage: 'token create',
  about: 'Make a token and show it, this once',
  flags: [
    clientFlag,
    { name: 'role', about: 'admin or member', required: true },
    { name: 'expires-in', about: 'how long it is good: 90d, 12h, 30m, 60s; else for ever' },
  ],
  run: async (invocation) => {
    const { client, role, 'expires-in': expiresIn } = invocation.flags
    const input = {
      clientId: idFrom('--client', client),
      role: roleFrom(role),
      ...(expiresIn === undefined ? {} : { expiresInMs: durationMs(expiresIn) }),
    }
    const made = await withMailkeep(invocation, (mailkeep) => mailkeep.tokens.create(input))
    const until = made.expires_at === null ? '' : `, good until ${made.expires_at}`
    const about = `token ${made.id} of client ${made.client_id}, ${made.role}${until}; it is not shown again:`
    invocation.print({ json: made, text: `${about}\n${made.token}` })
  },
}

const listTokens: Command = {
  usage: 'token list',
  about: 'Show tokens: whose they are and when they were used, not the tokens themselves',
  flags: [{ name: 'client', about: 'ID of a client, to show only its tokens' }],
  run: async (invocation) => {
    const { client } = invocation.flags
    const filter: { clientId?: number } = client === undefined ? {} : { clientId: idFrom('--client', client) }
    const tokens = await withMailkeep(invocation, async (mailkeep) => {
      if (filter.clientId !== undefined) await mailkeep.clients.get(filter.clientId)
      return await mailkeep.tokens.list(filter)
    })
    const rows = tokens.map((token) => [
      token.id,
      `client ${token.client_id}`,
      token.role,
      validity(token),
      `used ${token.last_used_at ?? 'never'}`,
    ])
    invocation.print({ json: tokens, text: table(rows, 'no tokens') })
  },
}

const revokeToken: Command = {
  usage: 'token revoke <id>',
  about: 'Revoke a token: from now on it opens nothing',
  run: async (invocation) => {
    const id = idFrom('The token to revoke', invocation.args[0])
    await withMailkeep(invocation, (mailkeep) => mailkeep.tokens.revoke(id))
    invocation.print({ json: { id, revoked: true }, text: `token ${id} is revoked` })
  },
}

export const tokenCommands: readonly Command[] = [createToken, listTokens, revokeToken]

function roleFrom(text: string | undefined): 'admin' | 'member' {
  if (text === 'admin' || text === 'member') return text
  throw new Complaint('--role must be admin or member.', 2)
}

function validity({ revoked_at, expires_at }: Token): string {
  if (revoked_at !== null) return `revoked ${revoked_at}`
  return expires_at === null ? 'does not expire' : `good until ${expires_at}`
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

function durationMs(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,6})([smhdw])$/.exec(text) ?? []
  if (count === undefined) throw new Complaint('--expires-in must be a number and one of s, m, h, d, w: 90d.', 2)
  return Number(count) * unitMs[unit as keyof typeof unitMs]
}
