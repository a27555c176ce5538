/** Finds the optional fields of inputs that TypeScript's `exactOptionalPropertyTypes` does not allow to be undefined. */
import { join, relative } from 'node:path'
import ts from 'typescript-5' // TypeScript 7 has no stable API yet

/** What mailkeep or a driver creates. Callers pass it on, and write none of its fields. */
const made = new Set(['Mailkeep', 'ClientOperations', 'DatabaseSource', 'SqliteHandle'])

type Direction = 'in' | 'out'

/**
 * @param folder The package.
 * @param files Declaration files of its entries.
 * @returns `field in file`, of all that callers pass to an exported function: its arguments, the fields and elements of
 *   these, and what their functions return.
 */
export function fieldsThatRefuseUndefined(folder: string, files: readonly string[]): string[] {
  const program = ts.createProgram(
    files.map((file) => join(folder, file)),
    {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      strict: true,
      exactOptionalPropertyTypes: true,
      types: ['node'],
    },
  )
  const checker = program.getTypeChecker()
  const found = new Set<string>()
  const seen = { in: new Set<ts.Type>(), out: new Set<ts.Type>() }
  const fileOf = (declaration: ts.Node | undefined) =>
    declaration ? relative(folder, declaration.getSourceFile().fileName) : ''
  const isOurs = (declaration: ts.Node | undefined) => !/^\.\.|node_modules/.test(fileOf(declaration))

  const allowsUndefined = (type: ts.Type) =>
    (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0 ||
    type === checker.getUndefinedType() ||
    (type.isUnion() && type.types.includes(checker.getUndefinedType()))

  const visit = (type: ts.Type, direction: Direction): void => {
    if (seen[direction].has(type)) return
    seen[direction].add(type)
    if (direction === 'in' && made.has(type.symbol?.name)) return
    if (type.isUnionOrIntersection()) for (const part of type.types) visit(part, direction)
    if ((type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) === 0) return
    for (const part of checker.getTypeArguments(type as ts.TypeReference)) visit(part, direction)
    for (const { type: item } of checker.getIndexInfosOfType(type)) visit(item, direction)
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) {
      if (!isOurs(signature.getDeclaration())) continue
      const given = direction === 'in' ? 'out' : 'in'
      for (const parameter of signature.getParameters()) visit(checker.getTypeOfSymbol(parameter), given)
      visit(signature.getReturnType(), direction)
    }
    for (const property of checker.getPropertiesOfType(type)) {
      const declaration = property.declarations?.[0]
      if (!isOurs(declaration)) continue
      const field = checker.getTypeOfSymbol(property)
      const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0
      if (direction === 'in' && isOptional && !allowsUndefined(field)) {
        found.add(`${property.name} in ${fileOf(declaration)}`)
      }
      visit(field, direction)
    }
  }
  for (const file of files) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(join(folder, file))!)!
    for (const symbol of checker.getExportsOfModule(module)) {
      const origin = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      if (origin.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Class)) visit(checker.getTypeOfSymbol(origin), 'out')
    }
  }
  return [...found].sort()
}
