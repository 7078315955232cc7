// Builds the server and the programs beside it: `node scripts/build-server.ts [FOLDER]`, by default dist/server.
import { basename, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, build } from 'rolldown'

const folder = resolve(process.argv[2] ?? 'dist/server')
const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * The server, its thread and its process, and the programs that tests start. Each is a file of the build; they share the others.
 */
const PROGRAMS = [
  'src/bin/server.ts',
  'src/app/gateway/gateway-thread.ts',
  'src/app/apart/apart-process.ts',
  'src/bin/migrate.ts',
  'src/bin/cli.ts',
  'src/bin/signalbox.ts',
  'src/bin/simulator.ts',
]
const input = Object.fromEntries(PROGRAMS.map((path) => [basename(path, '.ts'), resolve(root, path)]))

/** Packages of hundreds of modules. The others are loaded as they were installed. */
const BUNDLED = /^(?:kysely|typebox)(?:\/|$)/

/** The place of a module, with the name of a program that it starts if it names one. */
const PLACE = /new URL\('([\w-]+)\.ts', import\.meta\.url\)|import\.meta\.url/g

/** Modules find other files from where their source is, and start the programs of the build. */
const places: Plugin = {
  name: 'places',
  transform(code, id) {
    if (!id.startsWith(resolve(root, 'src') + sep)) return null
    const source = `new URL(${JSON.stringify(relative(folder, id))}, import.meta.url).href`
    return code.replaceAll(PLACE, (_, program: string | undefined) => {
      if (program === undefined) return source
      return program in input ? `new URL('${program}.mjs', import.meta.url)` : `new URL('${program}.ts', ${source})`
    })
  },
}

await build({
  cwd: root,
  input,
  platform: 'node',
  external: (id) => !/^[./]/.test(id) && !BUNDLED.test(id),
  plugins: [places],
  output: { dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
  logLevel: 'warn',
})
