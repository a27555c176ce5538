/** Commits the app's order, the contact and its webhook event in one transaction, or rolls all back. Run: npx tsx examples/own-transaction.ts */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createMailkeep } from 'mailkeep'
import { sqlite } from 'mailkeep/sqlite'

const folder = mkdtempSync(join(tmpdir(), 'shop-'))
const shop = new Database(join(folder, 'shop.db')) // the app's own handle
shop.exec('create table shop_order (id integer primary key, email text)')

const mailkeep = await createMailkeep({ database: sqlite(shop.name), encryptionKey: randomBytes(32) })
const client = await mailkeep.clients.create({ name: 'Shop' })
const buyers = await mailkeep.forClient(client.id).lists.create({ name: 'Buyers' })

async function order(email: string): Promise<void> {
  shop.exec('begin immediate')
  try {
    shop.prepare('insert into shop_order (email) values (?)').run(email)
    await mailkeep.using(shop).forClient(client.id).contacts.addToList(buyers.id, { email })
    shop.exec('commit')
  } catch (error) {
    shop.exec('rollback')
    throw error
  }
}

await order('ada@example.org')
await order('no address').catch((error) => process.stdout.write(`refused: ${error.message}\n`))
const orders = shop.prepare('select email from shop_order').pluck().all()
const contacts = (await mailkeep.forClient(client.id).contacts.list()).data.map(({ email }) => email)
process.stdout.write(`${JSON.stringify({ orders, contacts })}\n`)

await mailkeep.close()
shop.close()
rmSync(folder, { recursive: true })
