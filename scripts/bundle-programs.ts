import { basename, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, build } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Packages of hundreds of modules. The others are loaded as they were installed. */
const BUNDLED = /^(?:kysely|typebox)(?:\/|$)/

/** The place of a module, with the path and the name of a program that it starts if it names one. */
const PLACE = /new URL\('((?:[\w.-]+\/)*([\w-]+)\.ts)', import\.meta\.url\)|import\.meta\.url/g

/**
 * Bundles programs with the sources that they import. Each is a file of the folder; they share the others.
 * @param programs Paths from the root of the project, each with a name of its own.
 */
export async function bundlePrograms(programs: readonly string[], folder: string): Promise<void> {
  const input = Object.fromEntries(programs.map((path) => [basename(path, '.ts'), resolve(root, path)]))
  await build({
    cwd: root,
    input,
    platform: 'node',
    external: (id) => !/^[./]/.test(id) && !BUNDLED.test(id),
    plugins: [placesOf(input, folder)],
    output: { dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
    logLevel: 'warn',
  })
}

/** Modules find other files from where their source is, and start the programs of the build. */
function placesOf(input: Readonly<Record<string, string>>, folder: string): Plugin {
  return {
    name: 'places',
    transform(code, id) {
      if (!id.startsWith(resolve(root, 'src') + sep)) return null
      const source = `new URL(${JSON.stringify(relative(folder, id))}, import.meta.url).href`
      return code.replaceAll(PLACE, (_, path: string | undefined, program: string) => {
        if (path === undefined) return source
        return program in input ? `new URL('${program}.mjs', import.meta.url)` : `new URL('${path}', ${source})`
      })
    },
  }
}
