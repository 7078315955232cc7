// Writes the types that a TypeScript client of the interface has: docs/openapi.json by openapi-typescript. What is in
// test/client is compiled with them.
import { mkdirSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const document = new URL('../docs/openapi.json', import.meta.url)
const types = fileURLToPath(new URL('../node_modules/.cache/signalbox/openapi.d.ts', import.meta.url))

// The generator builds its output with the compiler's API, which TypeScript 7 does not have.
registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context) })
const { astToString, default: generate } = await import('openapi-typescript')

mkdirSync(dirname(types), { recursive: true })
writeFileSync(types, astToString(await generate(document, { defaultNonNullable: false, silent: true })))
