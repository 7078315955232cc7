import { type Plugin, build } from 'rolldown'
import { version } from '../src/platform/version.ts'

/** The file is self-contained, so it can't read the version from package.json. */
const ownVersion: Plugin = {
  name: 'own-version',
  load: (id) => (id.endsWith('/src/platform/version.ts') ? `export const version = ${JSON.stringify(version)}` : null),
}

/** Bundles a program of the agent into one file that needs only Node.js. */
export async function bundleAgent(input: string, file: string): Promise<void> {
  await build({
    input,
    platform: 'node',
    // These speed up WebSockets if they are installed.
    external: ['bufferutil', 'utf-8-validate'],
    plugins: [ownVersion],
    output: { file, format: 'esm', banner: '#!/usr/bin/env node', codeSplitting: false },
    logLevel: 'warn',
  })
}
