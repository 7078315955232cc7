// Writes the types of a TypeScript client of the interface: docs/openapi.json by openapi-typescript. The files in
// test/client are compiled with them, and the web console with a variant of them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const document = new URL('../docs/openapi.json', import.meta.url)
const types = fileURLToPath(new URL('../node_modules/.cache/signalbox/openapi.d.ts', import.meta.url))
const consoleTypes = fileURLToPath(new URL('../node_modules/.cache/signalbox/console-openapi.d.ts', import.meta.url))

// The generator builds its output with the compiler's API, which TypeScript 7 does not have.
registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context) })
const { astToString, default: generate } = await import('openapi-typescript')

mkdirSync(dirname(types), { recursive: true })
const options = { defaultNonNullable: false, silent: true }
writeFileSync(types, astToString(await generate(document, options)))
writeFileSync(consoleTypes, astToString(await generate(withoutUnsetting(), options)))

/**
 * Bodies may unset a field by its name with a minus. The generator makes an index signature of that pattern, with which
 * no other text fits into the body; the console unsets nothing in this way.
 */
function withoutUnsetting() {
  return JSON.parse(readFileSync(document, 'utf8'), (key, value) => (key === 'patternProperties' ? undefined : value))
}
