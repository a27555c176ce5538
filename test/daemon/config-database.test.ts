import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Config, readConfig } from '../../daemon/config.ts'
import { holdsPassword, shownDatabase } from '../../daemon/database-setting.ts'
import { load } from '../../daemon/drivers.ts'
import { openEncryptionKey } from '../../daemon/encryption-key.ts'

function config(url: string): Config {
  return readConfig({ MAILKEEP_DATABASE: url }, {}).config
}

test('a PostgreSQL server is taken from the environment, and so must be its encryption key', async () => {
  const urls = [
    'postgres://h/d',
    'postgresql://u:p@h:5433/d?sslmode=require',
    'postgres:///d?host=/run/pg',
    'postgres://u:p%23%25@/d?host=/run/pg',
    'postgres://%2Frun%2Fpg/d',
  ]
  for (const url of urls) {
    assert.equal(config(url).database, url)
    await assert.rejects(openEncryptionKey(config(url)), /^CliError: MAILKEEP_ENCRYPTION_KEY is/)
  }
})

test('a database shown to people has no password in its URL', () => {
  const shown: Record<string, string> = {
    'mail.db': 'mail.db',
    'postgres://h/d': 'postgres://h/d',
    'postgres://u:geheim@h:5433/d?sslmode=require&password=geheim': 'postgres://u@h:5433/d',
    'postgres://u:ge@heim@h/d': 'postgres://u@h/d',
    'postgres://u:geheim@/d': 'the PostgreSQL database',
  }
  for (const [database, text] of Object.entries(shown)) assert.equal(shownDatabase(database), text)
  const passwords = Object.keys(shown).filter(holdsPassword)
  assert.deepEqual(
    passwords,
    Object.keys(shown).filter((url) => url.includes('heim')),
  )
})

test('a driver that is not installed is named, with the command that installs it', async () => {
  const missing = (name: string) => load(name, 'PostgreSQL', () => import(name))
  await assert.rejects(missing('pg-not-there'), {
    message: 'pg-not-there is missing, which PostgreSQL needs: npm install pg-not-there',
  })
  const other = () => import('pg-not-there' as string)
  await assert.rejects(load('pg', 'PostgreSQL', other), { code: 'ERR_MODULE_NOT_FOUND' })
})
