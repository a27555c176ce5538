import { type Role, roles, type Token } from '../../lib/index.ts'
import { CliError, reasonOf } from '../cli-error.ts'
import { type Command, clientFlag, type Invocation, idFrom, naming, table, withMailkeep } from './command.ts'

const createToken: Command = {
  usage: 'token create',
  about: 'Create a token for the HTTP API and show it once',
  flags: [
    clientFlag,
    {
      name: 'role',
      value: 'admin|member|viewer',
      about:
        'What the token may do: a viewer reads, a member also writes contacts, tags, lists, topics, segments, suppressions and drafts of newsletters',
      required: true,
      example: 'admin',
    },
    { name: 'name', value: 'NAME', about: 'Name for people, shown by token list', default: 'none', example: 'billing' },
    {
      name: 'expires-in',
      value: 'TIME',
      about: 'How long it is valid: a number and s, m, h, d or w',
      default: 'until it is revoked',
      example: '90d',
    },
  ],
  run: async (invocation) => {
    const { client, role, name, 'expires-in': expiresIn } = invocation.flags
    const input = {
      clientId: idFrom('--client', client),
      role: roleFrom(role),
      name,
      expiresInMs: expiresIn === undefined ? undefined : durationMs(expiresIn),
    }
    await withMailkeep(invocation, async (mailkeep) => {
      const create = () => mailkeep.tokens.create(input)
      const made = await naming({ expiresInMs: '--expires-in', name: '--name' }, create)
      const until = made.expires_at === null ? '' : `, valid until ${made.expires_at}`
      const about = `token ${made.id} of client ${made.client_id}, ${made.role}${until}; it is not shown again:`
      invocation.print({ json: made, text: `${about}\n${made.token}` })
      const failed = await outputError(invocation)
      if (!failed) return
      await mailkeep.tokens.revoke(made.id)
      throw new CliError(`The token cannot be shown, and is revoked: ${reasonOf(failed)}.`)
    })
  },
}

const listTokens: Command = {
  usage: 'token list',
  about: 'List tokens with client, name and last use, but not the secret values',
  flags: [{ name: 'client', value: 'ID', about: 'Only the tokens of this client', default: 'all', example: '1' }],
  run: async (invocation) => {
    const { client } = invocation.flags
    const clientId = client === undefined ? undefined : idFrom('--client', client)
    const tokens = await withMailkeep(invocation, async (mailkeep) => {
      if (clientId !== undefined) await mailkeep.clients.get(clientId)
      return await mailkeep.tokens.list({ clientId })
    })
    const rows = tokens.map((token) => [
      token.id,
      `client ${token.client_id}`,
      token.name ?? '-',
      token.role,
      validity(token),
      `used ${token.last_used_at ?? 'never'}`,
    ])
    invocation.print({ json: tokens, text: table(rows, 'no tokens') })
  },
}

const revokeToken: Command = {
  usage: 'token revoke ID',
  about: 'Revoke a token: it is invalid immediately',
  examples: { ID: '3' },
  run: async (invocation) => {
    const id = idFrom('The token to revoke', invocation.args[0])
    await withMailkeep(invocation, (mailkeep) => mailkeep.tokens.revoke(id))
    invocation.print({ json: { id, revoked: true }, text: `token ${id} is revoked` })
  },
}

export const tokenCommands: readonly Command[] = [createToken, listTokens, revokeToken]

/** Resolves when the system has taken what was printed, with the error if it did not. */
function outputError({ output }: Invocation): Promise<Error | null | undefined> {
  return new Promise((resolve) => output.write('', resolve))
}

function roleFrom(text: string | undefined): Role {
  const role = roles.find((name) => name === text)
  if (role) return role
  throw new CliError('--role must be admin, member or viewer.', 2)
}

function validity({ revoked_at, expires_at }: Token): string {
  if (revoked_at !== null) return `revoked ${revoked_at}`
  return expires_at === null ? 'does not expire' : `valid until ${expires_at}`
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

function durationMs(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,6})([smhdw])$/.exec(text) ?? []
  if (count === undefined)
    throw new CliError('--expires-in must be a number of up to seven digits and one of s, m, h, d, w: 90d.', 2)
  return Number(count) * unitMs[unit as keyof typeof unitMs]
}
