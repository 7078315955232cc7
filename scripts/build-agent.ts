// Builds the agent of edge appliances as one file that needs only Node.js: `npm run build-agent [-- FILE]`.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleAgent } from './bundle-agent.ts'

const file = resolve(process.argv[2] ?? 'dist/signalbox-agent.mjs')
await bundleAgent(fileURLToPath(new URL('../src/bin/agent.ts', import.meta.url)), file)
process.stdout.write(`${file}\n`)
