// Writes pictures of every page of the console: `npm run screenshots [-- FOLDER [PAGE...]]`, by default all of them into
// dist/screenshots. It runs its own demo, and needs Chromium (SIGNALBOX_TEST_CHROMIUM, or Debian's).
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { once } from 'node:events'
import type { Page } from 'playwright-core'
import { createClient } from '../src/cli/client.ts'
import { buildConsole, launchChromium, noChromium, openView, signIn } from '../test/support/peers/chromium.ts'
import { readyUrl, spawnServer } from '../test/support/servers/spawn-server.ts'
import { type Demo, prepareDemo } from './screenshots/prepare-demo.ts'
import { type Shot, demoShots, emptyShots, openShots } from './screenshots/shots.ts'

const views = {
  light: { scheme: 'light' },
  dark: { scheme: 'dark' },
  narrow: { scheme: 'light', width: 390, height: 844 },
} as const

/** What people sign in with, and the pages that they open then. */
interface Visit {
  readonly person: { readonly email: string; readonly password: string }
  readonly org: string
  readonly shots: readonly Shot[]
}

if (noChromium !== null) throw new Error(noChromium)
const [, , given = 'dist/screenshots', ...wanted] = process.argv
const folder = resolve(given)
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name)
await mkdir(folder, { recursive: true })
await buildConsole()
const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-screenshots-'))
const browser = await launchChromium()
try {
  await withServer('demo', async (url, operatorKey) => {
    const demo = JSON.parse(await readFile(join(dataDir, 'demo', 'demo.json'), 'utf8')) as Demo
    const prepared = await prepareDemo(url, demo)
    const visit = { person: demo, org: `/orgs/${demo.org_id}`, shots: demoShots(demo, prepared) }
    await takeAll(url, visit, operatorKey)
  })
  await withServer('empty', async (url, operatorKey) => {
    const person = { email: 'ada@example.com', password: 'a much longer password' }
    const operator = createClient({ url, authorization: `Operator ${operatorKey}`, dataDir })
    const body = { ...person, org: 'My network' }
    const { org_id: id } = (await operator.call('POST', '/operator/v1/bootstrap', body)) as { readonly org_id: string }
    await takeAll(url, { person, org: `/orgs/${id}`, shots: emptyShots(`/orgs/${id}`) })
  })
} finally {
  await browser.close()
  await rm(dataDir, { recursive: true, force: true })
}

/** Runs a server, the demo in the folder of that name, while its pictures are taken. */
async function withServer(name: 'demo' | 'empty', take: (url: string, operatorKey: string) => Promise<void>) {
  const data = join(dataDir, name)
  const env = { SIGNALBOX_ROLLOUT_SOAK_S: '0' }
  const server = await spawnServer({ dataDir: data, demo: name === 'demo', env })
  const ended = once(server, 'exit')
  try {
    const url = await readyUrl(server)
    await take(url, (await readFile(join(data, 'operator.key'), 'utf8')).trim())
  } finally {
    server.kill('SIGTERM')
    await ended
  }
}

/** Takes the pictures of one server; with the operator's key also those that need no account. */
async function takeAll(url: string, { person, org, shots }: Visit, operatorKey?: string): Promise<void> {
  for (const [view, options] of Object.entries(views)) {
    const context = await openView(browser, url, options)
    context.setDefaultTimeout(10_000)
    const page = await context.newPage()
    page.on('pageerror', (error) => complain(`${page.url()}: ${String(error.stack)}`))
    if (operatorKey !== undefined) {
      for (const shot of openShots) await take(page, shot, view)
      await takeOperator(page, operatorKey, view)
    }
    await signIn(page, person)
    await page.waitForURL(`**${org}`)
    for (const shot of shots) await take(page, shot, view)
    await context.close()
  }
}

async function take(page: Page, { name, path, text, act }: Shot, view: string): Promise<void> {
  if (!isWanted(name)) return
  try {
    await page.goto(path, { waitUntil: 'domcontentloaded' })
    await page.getByText(text).first().waitFor()
    await act?.(page)
    await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' })
  } catch (error) {
    complain(`${name} in ${view}: ${String(error)}`)
  }
  await write(page, `${name}-${view}`, act === undefined)
}

/** Goes on with the other pictures, and fails at the end. */
function complain(text: string): void {
  process.stderr.write(`${text}\n`)
  process.exitCode = 1
}

async function takeOperator(page: Page, operatorKey: string, view: string): Promise<void> {
  if (!isWanted('operator')) return
  await page.goto('/operator')
  await page.getByLabel('Operator key', { exact: true }).fill(operatorKey)
  await write(page, `operator-key-${view}`, true)
  await page.keyboard.press('Enter')
  await page.getByText('of the disk').nth(1).waitFor()
  await write(page, `operator-${view}`, true)
}

/** Writes all of a page that is longer than the window, but only the window where a dialog is open. */
async function write(page: Page, name: string, isWhole: boolean): Promise<void> {
  const path = join(folder, `${name}.png`)
  await page.screenshot({ path, fullPage: isWhole && name.endsWith('-narrow') })
  process.stdout.write(`${path}\n`)
}
