/** A file of the web console. */
export interface ConsoleAsset {
  /** Value of `Content-Type`. */
  readonly type: string
  /** Value of `ETag`. */
  readonly tag: string
  /** Contents, compressed by brotli, as base64. */
  readonly brotli: string
}

/** Files by path. The page itself is `/`. */
export type ConsoleAssets = Readonly<Record<string, ConsoleAsset>>

/**
 * Bundles the console from its sources, for `npm start` in a checkout. In the package, the bundle and the binary this
 * module is replaced by one that contains the files: see `.ci/console.ts`.
 */
export async function loadConsole(): Promise<ConsoleAssets> {
  const { buildConsole } = await import('../.ci/console.ts')
  return (await buildConsole()).assets
}
