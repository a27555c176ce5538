/** Checks the README, the library’s map and the list of examples: length, code, links and completeness. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

const root = join(import.meta.dirname, '../..')

const read = (file: string) => readFileSync(join(root, file), 'utf8')

function filesIn(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
}

describe('the front page', () => {
  test('has at most 150 lines', () => {
    const lines = read('README.md').trimEnd().split('\n').length
    assert.ok(lines <= 150, `${lines} lines`)
  })

  test('shows one picture of the flow', () => {
    assert.equal(read('README.md').match(/^```mermaid$/gm)?.length, 1)
  })

  test('shows a library session that runs unchanged', () => {
    const [block = ''] = read('README.md').match(/(?<=^```ts\n)[\s\S]*?(?=^```)/m) ?? []
    const program = block
      .replace("'mail.db'", "':memory:'")
      .replace(/^mailkeep\.start\(\).*$/m, 'console.log((await acme.contacts.list()).data[0].extra_attributes)')
    assert.notEqual(program, block)
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
    const env = { ...process.env, MAIL_KEY: Buffer.alloc(32, 1).toString('base64') }
    assert.equal(execFileSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' }), "{ company: 'Engines' }\n")
  })

  test('links to files that exist where the package does not contain them', () => {
    const home = /https:\/\/github\.com\/mailkeep\/mailkeep\/blob\/main\/([^)#]+)/g
    const files = [...read('README.md').matchAll(home)].map(([, file]) => file!)
    for (const file of files) assert.ok(existsSync(join(root, file)), file)
  })
})

describe('the pages it links to', () => {
  test('name every folder of the library in its map', () => {
    const map = read('lib/README.md').split('\n## Map\n')[1]!.split('\n## ')[0]!
    const folders = readdirSync(join(root, 'lib'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    for (const { name } of folders) assert.match(map, new RegExp(`(?:^|\\s)${name}/`, 'm'), name)
    const named = [...map.matchAll(/(?<=^|\s)(\w+)\/(?=\s)/gm)].map(([, name]) => name!)
    const known = filesIn('lib').flatMap((file) => file.split('/').slice(0, -1))
    for (const name of named) assert.ok(name === 'daemon' || known.includes(name), `${name}/ is in the map only`)
  })

  test('name every example', () => {
    const page = read('examples/README.md')
    for (const file of filesIn('examples').filter((name) => !name.endsWith('.md'))) {
      assert.ok(page.includes(`](${file.slice('examples/'.length)})`), file)
    }
  })
})
