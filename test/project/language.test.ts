/** Plain English in sources and documents: words and phrases that made readers stop are refused. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

/** Matched as whole words in any case. One letter of each is in brackets, so that this list does not match itself. */
const refused = [
  '[a]new',
  '[c]omes by',
  'a[l]l the same',
  'g[o](?:es)? on',
  'i[n] vain',
  'l[o]oked around',
  'm[e]anwhile',
  'n[o]body',
  'n[o]t for sale',
  'o[f] ours',
  'o[f] theirs',
  's[o] long as',
  's[o]mebody',
  's[t]ands (?:in|here)',
  't[o]ld',
  'w[h]oever',
  'w[h]osever',
]

/** A phrase may continue on the next line of a comment. */
const gap = String.raw`\s+(?:(?:\*|//|>)\s+)?`
const pattern = new RegExp(String.raw`\b(?:${refused.join('|').replaceAll(' ', gap)})\b`, 'gi')

/** In quotes it is the name of an operating system's user. */
const userName = /(['`])n[o]body\1/g

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:tsx?|css|md)$/.test(name) && !/(?:^|[\\/])node_modules[\\/]/.test(name))
    .map((name) => join(folder, name))
}

/** Returns `file:line: words` for each match. */
function findRefused(file: string, text: string): string[] {
  const prose = text.replace(userName, (name) => ' '.repeat(name.length))
  return [...prose.matchAll(pattern)].map((match) => {
    const line = prose.slice(0, match.index).split('\n').length
    return `${file}:${line}: ${match[0].replace(/\s+/g, ' ')}`
  })
}

test('sources and documents use plain words', () => {
  const files = ['lib', 'daemon', 'examples', 'test', '.ci', '.github'].flatMap(filesIn).concat('README.md')
  const found = files.flatMap((file) => findRefused(file, readFileSync(join(root, file), 'utf8')))
  assert.equal(found.length, 0, `use plain words instead:\n${found.join('\n')}`)
})
