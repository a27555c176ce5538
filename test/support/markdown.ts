/** Reads the documents of the project: sections, tables and links. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Returns the text under a heading of a document, up to the next heading of level 2 or deeper. */
export function sectionOf(document: string, heading: string): string {
  const [, rest] = `\n${readFileSync(join(root, document), 'utf8')}`.split(`\n${heading}\n`)
  if (rest === undefined) throw new Error(`${document} has no heading "${heading}"`)
  return rest.split(/\n#{2,} /)[0]!
}

/** Returns the blocks of shell commands in a section. */
export function shellBlocksOf(document: string, heading: string): string[] {
  return [...sectionOf(document, heading).matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!)
}

/** Returns the cells of each table row in a section, heads included. */
export function rowsOf(document: string, heading: string): string[][] {
  const lines = sectionOf(document, heading)
    .split('\n')
    .filter((line) => line.startsWith('|'))
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** Returns the links of documents below `folder` to a missing file or a missing heading. */
export function deadLinks(folder: string, documents: readonly string[]): string[] {
  return documents.flatMap((file) =>
    linksOf(readFileSync(join(folder, file), 'utf8'))
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => !leadsSomewhere(folder, file, decodeURI(link)))
      .map((link) => `${file}: ${link}`),
  )
}

function leadsSomewhere(folder: string, file: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? file : join(dirname(file), path)
  if (!existsSync(join(folder, target)) || target.startsWith('..')) return false
  if (anchor === undefined || !target.endsWith('.md')) return true
  return anchorsOf(readFileSync(join(folder, target), 'utf8')).includes(anchor)
}

/** Returns the targets of a document's links, without those in code. */
function linksOf(markdown: string): string[] {
  const prose = markdown.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, 'code')
  return [...prose.matchAll(/\]\(<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]: (\S+)/gm)].map((match) => (match[1] ?? match[2])!)
}

/** Returns the anchors that GitHub gives a document's headings. */
function anchorsOf(markdown: string): string[] {
  const prose = markdown.replace(/^```[\s\S]*?^```/gm, '')
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
}
