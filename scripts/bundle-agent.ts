import { type Plugin, build } from 'rolldown'
import { version } from '../src/platform/version.ts'

/** The file is self-contained, so it can't read the version from package.json. */
const ownVersion: Plugin = {
  name: 'own-version',
  load: (id) => (id.endsWith('/src/platform/version.ts') ? `export const version = ${JSON.stringify(version)}` : null),
}

/**
 * An import of `node:http` reads all its properties, and the one of WebSockets loads another HTTP client, which takes a fifth of the
 * start of an agent. The agent uses only this function.
 */
const requestOnly: Plugin = {
  name: 'request-only',
  resolveId: (id) => (id === 'node:http' ? '\0node:http' : null),
  load: (id) =>
    id === '\0node:http'
      ? `import { createRequire } from 'node:module'
         export const { request } = createRequire(import.meta.url)('node:http')`
      : null,
}

/** Bundles a program of the agent into one file that needs only Node.js. */
export async function bundleAgent(input: string, file: string): Promise<void> {
  await build({
    input,
    platform: 'node',
    // These speed up WebSockets if they are installed.
    external: ['bufferutil', 'utf-8-validate'],
    plugins: [ownVersion, requestOnly],
    output: { file, format: 'esm', banner: '#!/usr/bin/env node', codeSplitting: false },
    logLevel: 'warn',
  })
}
