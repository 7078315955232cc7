// Builds the agent of edge appliances as one file that needs only Node.js: `npm run build-agent [-- FILE]`.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, build } from 'rolldown'
import { version } from '../src/platform/version.ts'

const input = fileURLToPath(new URL('../src/bin/agent.ts', import.meta.url))
const file = resolve(process.argv[2] ?? 'dist/signalbox-agent.mjs')

/** The file stands alone, so it can't read the version from package.json. */
const ownVersion: Plugin = {
  name: 'own-version',
  load: (id) => (id.endsWith('/src/platform/version.ts') ? `export const version = ${JSON.stringify(version)}` : null),
}

await build({
  input,
  platform: 'node',
  // These speed up WebSockets where they are installed.
  external: ['bufferutil', 'utf-8-validate'],
  plugins: [ownVersion],
  output: { file, format: 'esm', banner: '#!/usr/bin/env node', codeSplitting: false },
  logLevel: 'warn',
})
process.stdout.write(`${file}\n`)
