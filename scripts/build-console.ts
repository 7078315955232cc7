// Builds the web console: `node scripts/build-console.ts [FOLDER]`, by default dist/console.
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { type Plugin, build } from 'vite'

/**
 * The scripts that a browser loads before the first page is usable: the shared scripts and those of the largest page.
 */
const MAX_SCRIPT_BYTES = 200_000

const folder = resolve(process.argv[2] ?? 'dist/console')
const root = fileURLToPath(new URL('../web', import.meta.url))

interface Chunk {
  readonly file: string
  readonly isEntry?: boolean
  readonly isDynamicEntry?: boolean
  readonly imports?: readonly string[]
}

const NO_SCROLL_AREA = 'virtual:no-scroll-area'

let isScrollAreaLeftOut = false

/**
 * Mantine's dialog compares the scroll area that it was given with Mantine's own. Dialogs here are given none, and that one
 * would add 14 KB of compressed script to every page.
 */
const withoutScrollArea: Plugin = {
  name: 'without-scroll-area',
  enforce: 'pre',
  resolveId(source, importer = '') {
    if (!source.endsWith('/ScrollArea.mjs') || !importer.endsWith('/ModalRoot.mjs')) return null
    isScrollAreaLeftOut = true
    return NO_SCROLL_AREA
  },
  load: (id) => (id === NO_SCROLL_AREA ? 'export const ScrollArea = { Autosize: null }' : null),
  generateBundle() {
    if (!isScrollAreaLeftOut) this.error("Mantine's dialog no longer imports ScrollArea.mjs: adapt this plugin")
  },
}

// The libraries of a test or a developer's shell would be built with their checks, which are large and slow.
process.env['NODE_ENV'] = 'production'
await build({
  root,
  configFile: false,
  // It would be an unhashed file among hashed ones.
  publicDir: false,
  plugins: [withoutScrollArea],
  logLevel: 'warn',
  build: {
    outDir: folder,
    emptyOutDir: false,
    manifest: 'manifest.json',
    target: 'es2023',
    // Every file is loaded by its address; the policy of the page forbids embedded ones.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // Libraries mark files for frameworks that render on a server; here the marks mean nothing.
      onLog: (level, log, handle) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log)
      },
    },
  },
})

const sizes = await compressAssets(join(folder, 'assets'))
await compress(folder, 'index.html')
const chunks = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Readonly<Record<string, Chunk>>
const first = measureFirstPage(chunks, sizes)
process.stderr.write(
  `signalbox: the console needs ${Math.ceil(first / 1000)} KB of compressed script for its first page\n`,
)
if (first > MAX_SCRIPT_BYTES) {
  process.stderr.write(`signalbox: more than the ${MAX_SCRIPT_BYTES / 1000} KB that are allowed\n`)
  process.exitCode = 1
}

/** Returns the size of each file with gzip, which every browser takes. */
async function compressAssets(dir: string): Promise<ReadonlyMap<string, number>> {
  const names = await readdir(dir)
  const compressed = await Promise.all(
    names.map(async (name) => [`assets/${name}`, await compress(dir, name)] as const),
  )
  return new Map(compressed)
}

async function compress(dir: string, name: string): Promise<number> {
  const bytes = await readFile(join(dir, name))
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(bytes, { params }),
    promisify(gzip)(bytes, { level: 9 }),
  ])
  if (br.length < bytes.length) await writeFile(join(dir, `${name}.br`), br)
  if (gz.length < bytes.length) await writeFile(join(dir, `${name}.gz`), gz)
  return Math.min(gz.length, bytes.length)
}

function measureFirstPage(all: Readonly<Record<string, Chunk>>, compressed: ReadonlyMap<string, number>): number {
  const entries = Object.keys(all)
  const shared = closureOf(
    all,
    entries.filter((name) => all[name]?.isEntry === true),
  )
  const pages = entries.filter((name) => all[name]?.isDynamicEntry === true)
  const sizeOf = (names: ReadonlySet<string>): number =>
    [...names].reduce((sum, name) => sum + (compressed.get(all[name]?.file ?? '') ?? 0), 0)
  return Math.max(sizeOf(shared), ...pages.map((page) => sizeOf(new Set([...shared, ...closureOf(all, [page])]))))
}

/** Returns the chunks and all that they import. */
function closureOf(all: Readonly<Record<string, Chunk>>, names: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting = [...names]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    found.add(name)
    waiting.push(...(all[name]?.imports ?? []))
  }
  return found
}
