/** Writes the files `api-types.ts`: the types of the tables in lib/bind.ts, with the docstrings of the operations. */
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript-5' // TypeScript 7 has no stable API yet

const root = join(import.meta.dirname, '..')

/** Tables with a file of their own. The others are in lib/api-types.ts. No file may have more than 300 lines. */
const files: Readonly<Record<string, string>> = {
  clientsApi: 'lib/clients/api-types.ts',
  tokensApi: 'lib/clients/api-types.ts',
  clientTokensApi: 'lib/clients/api-types.ts',
  portalApi: 'lib/clients/api-types.ts',
  contactsApi: 'lib/contacts/api-types.ts',
  linksApi: 'lib/contacts/api-types.ts',
  webhooksApi: 'lib/webhooks/api-types.ts',
  eventsApi: 'lib/webhooks/api-types.ts',
  newslettersApi: 'lib/sending/api-types.ts',
  sequencesApi: 'lib/sending/api-types.ts',
}

const head = `/**
 * Types of the operations, with the documentation that editors show. Written by \`npm run reference\` from lib/bind.ts and
 * the docstrings of the operations: change them, not this file.
 */`

/** Returns the generated files by path. */
export function apiTypes(): Map<string, string> {
  const sources = ['lib/bind.ts', 'lib/bind-sending.ts'].map(parse)
  const modules = new Map(sources.flatMap((source) => [...importsOf(source)]))
  const outputs = new Map<string, Output>()
  for (const { name, doc, entries } of sources.flatMap(tablesOf)) {
    const path = files[name] ?? 'lib/api-types.ts'
    const output: Output = outputs.get(path) ?? { imports: new Map(), interfaces: [] }
    outputs.set(path, output)
    const methods = entries.map(([method, module, operation]) =>
      methodOf(method, modules.get(module)!, operation, output.imports),
    )
    const typeName = name[0]!.toUpperCase() + name.slice(1)
    output.interfaces.push(`${doc}\nexport interface ${typeName} {\n${methods.join('\n')}\n}`)
  }
  return new Map(
    [...outputs].map(([path, { imports, interfaces }]) => [
      path,
      `${[`${head}\n${importLines(path, imports)}`, ...interfaces].join('\n\n')}\n`,
    ]),
  )
}

interface Output {
  readonly imports: Imports
  readonly interfaces: string[]
}

/** The files of the types that a generated file mentions, by the type's name. */
type Imports = Map<string, string>

export function parse(path: string): ts.SourceFile {
  return ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.ES2023, true)
}

/** Returns the file of each imported name. */
function importsOf(source: ts.SourceFile): Map<string, string> {
  const names = new Map<string, string>()
  for (const statement of source.statements.filter(ts.isImportDeclaration)) {
    const specifier = (statement.moduleSpecifier as ts.StringLiteral).text
    const bindings = statement.importClause?.namedBindings
    if (!bindings) continue
    const path = specifier.startsWith('.') ? join(dirname(source.fileName), specifier) : specifier
    const imported = ts.isNamespaceImport(bindings) ? [bindings] : bindings.elements
    for (const { name } of imported) names.set(name.text, path)
  }
  return names
}

interface Table {
  readonly name: string
  readonly doc: string
  /** Public name, module and function of each operation. */
  readonly entries: readonly (readonly [string, string, string])[]
}

function tablesOf(bind: ts.SourceFile): Table[] {
  return bind.statements.filter(ts.isVariableStatement).map((statement) => {
    const { name, initializer } = statement.declarationList.declarations[0]!
    const { properties } = initializer as ts.ObjectLiteralExpression
    const entries = properties.filter(ts.isPropertyAssignment).map((property) => {
      const [module, operation] = property.initializer.getText().split('.')
      return [property.name.getText(), module!, operation!] as const
    })
    return { name: name.getText(), doc: docOf(statement), entries }
  })
}

/** Returns the docstring of a declaration. A comment before an empty line is that of the file. */
export function docOf(node: ts.Node): string {
  const doc = ts.getJSDocCommentsAndTags(node).findLast(ts.isJSDoc)
  if (!doc) return ''
  return /\n\n/.test(node.getSourceFile().text.slice(doc.end, node.getStart())) ? '' : doc.getText()
}

/** Returns the operation as a method without its first parameter, the context. */
function methodOf(method: string, path: string, operation: string, imports: Imports): string {
  const source = parse(path)
  const declaration = source.statements.filter(ts.isFunctionDeclaration).find(({ name }) => name?.text === operation)
  if (!declaration?.type) throw new Error(`${path} has no function ${operation} with a return type`)
  const parameters = declaration.parameters.slice(1)
  for (const node of [declaration.type, ...parameters]) collectTypes(node, source, imports)
  const texts = parameters.map(({ name, questionToken, initializer, type }) => {
    return `${name.getText()}${questionToken || initializer ? '?' : ''}: ${type!.getText()}`
  })
  const line = `${method}(${texts.join(', ')}): ${declaration.type.getText()}`
  const code =
    line.length <= 118
      ? line
      : `${method}(\n${texts.map((text) => `  ${text},\n`).join('')}): ${declaration.type.getText()}`
  return indented(`${docOf(declaration)}\n${code}`)
}

function indented(text: string): string {
  return text.trim().replace(/^(?=.)/gm, '  ')
}

function collectTypes(node: ts.Node, source: ts.SourceFile, imports: Imports): void {
  if (ts.isTypeReferenceNode(node)) {
    const name = node.typeName.getText()
    const path = importsOf(source).get(name) ?? (declares(source, name) ? source.fileName : undefined)
    if (path) imports.set(name, path)
  }
  ts.forEachChild(node, (child) => collectTypes(child, source, imports))
}

function declares(source: ts.SourceFile, name: string): boolean {
  return source.statements.some(
    (each) => (ts.isInterfaceDeclaration(each) || ts.isTypeAliasDeclaration(each)) && each.name.text === name,
  )
}

function importLines(output: string, imports: Imports): string {
  const byFile = new Map<string, string[]>()
  for (const [name, path] of imports) {
    const specifier = specifierFrom(output, path)
    byFile.set(specifier, [...(byFile.get(specifier) ?? []), name])
  }
  return [...byFile]
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map(([path, names]) => {
      const line = `import type { ${names.sort().join(', ')} } from '${path}'`
      return line.length <= 120
        ? line
        : `import type {\n${names.map((name) => `  ${name},\n`).join('')}} from '${path}'`
    })
    .join('\n')
}

/** The linter sorts the imports of folders above first. */
function rank(specifier: string): number {
  return -specifier.split('../').length
}

function specifierFrom(output: string, path: string): string {
  const specifier = relative(dirname(output), path)
  return specifier.startsWith('.') ? specifier : `./${specifier}`
}
