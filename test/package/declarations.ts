/** Reads the types of the packed package like a user's compiler. */
import { join, relative } from 'node:path'
import ts from 'typescript-5' // TypeScript 7 has no stable API yet

interface Declarations {
  /** The names that each entry exports: values by name, types after the word `type`. */
  readonly exported: Readonly<Record<string, readonly string[]>>
  /** Types that exported declarations mention but no entry exports: `Name in file`. */
  readonly unnameable: readonly string[]
}

/**
 * @param folder The package.
 * @param entries Declaration files by the entry's name.
 */
export function readDeclarations(folder: string, entries: Readonly<Record<string, string>>): Declarations {
  const program = ts.createProgram(
    Object.values(entries).map((file) => join(folder, file)),
    { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, strict: true, types: ['node'] },
  )
  const checker = program.getTypeChecker()
  const origin = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const exportsOf = (file: string): [name: string, symbol: ts.Symbol][] => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(join(folder, file))!)!
    return checker.getExportsOfModule(module).map((symbol) => [labelOf(symbol), origin(symbol)])
  }
  const labelOf = (symbol: ts.Symbol) => {
    const typeOnly =
      symbol.declarations?.some((each) => ts.isExportSpecifier(each) && ts.isTypeOnlyExportDeclaration(each)) ?? false
    return origin(symbol).flags & ts.SymbolFlags.Value && !typeOnly ? symbol.name : `type ${symbol.name}`
  }
  const exported = Object.fromEntries(Object.entries(entries).map(([entry, file]) => [entry, exportsOf(file)]))
  const nameable = new Set(Object.values(exported).flatMap((pairs) => pairs.map(([, symbol]) => symbol)))

  const unnameable = new Set<string>()
  const visit = (node: ts.Node): void => {
    const name = nameIn(node)
    const symbol = name && checker.getSymbolAtLocation(name)
    if (symbol) {
      const named = origin(symbol)
      const at = named.declarations?.[0]
      const path = at ? relative(folder, at.getSourceFile().fileName) : '..'
      const ours = !path.startsWith('..') && !path.includes('node_modules')
      const local = (named.flags & ts.SymbolFlags.TypeParameter) !== 0
      if (ours && !local && !nameable.has(named)) unnameable.add(`${named.name} in ${path}`)
    }
    ts.forEachChild(node, visit)
  }
  for (const symbol of nameable) for (const declaration of symbol.declarations ?? []) visit(declaration)
  return {
    exported: Object.fromEntries(
      Object.entries(exported).map(([entry, pairs]) => [entry, pairs.map(([label]) => label).sort()]),
    ),
    unnameable: [...unnameable].sort(),
  }
}

/** Returns the name node of a type that the node mentions. */
function nameIn(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName
  if (ts.isExpressionWithTypeArguments(node)) return node.expression
  if (ts.isTypeQueryNode(node)) return node.exprName
  if (ts.isImportTypeNode(node)) return node.qualifier
  return undefined
}
