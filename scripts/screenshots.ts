// Writes pictures of the console's pages: `npm run screenshots [-- FOLDER]`, by default dist/screenshots. It runs a demo of
// its own, and needs Chromium (SIGNALBOX_TEST_CHROMIUM, or Debian's).
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { once } from 'node:events'
import { buildConsole, launchChromium, noChromium, openView, signIn } from '../test/support/chromium.ts'
import { readyUrl, spawnServer } from '../test/support/spawn-server.ts'

interface Demo {
  readonly email: string
  readonly password: string
  readonly api_token: string
  readonly org_id: string
  readonly site_ids: readonly string[]
}

const views = {
  light: { scheme: 'light' },
  dark: { scheme: 'dark' },
  narrow: { scheme: 'light', width: 390, height: 844 },
} as const

if (noChromium !== null) throw new Error(noChromium)
const folder = resolve(process.argv[2] ?? 'dist/screenshots')
await mkdir(folder, { recursive: true })
await buildConsole()
const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-screenshots-'))
const server = spawnServer({ dataDir: join(dataDir, 'data'), demo: true })
const ended = once(server, 'exit')
try {
  const url = await readyUrl(server)
  const demo = JSON.parse(await readFile(join(dataDir, 'data', 'demo.json'), 'utf8')) as Demo
  await takeAll(url, demo, await startUpgrade(url, demo))
} finally {
  server.kill('SIGTERM')
  await ended
  await rm(dataDir, { recursive: true, force: true })
}

/** Starts an upgrade that runs while the pictures are taken. */
async function startUpgrade(url: string, demo: Demo): Promise<string> {
  const answer = await fetch(`${url}/api/v1/orgs/${demo.org_id}/devices/upgrade`, {
    method: 'POST',
    headers: { authorization: `Token ${demo.api_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ all_sites: true, strategy: 'canary', version: '3.2.0' }),
  })
  if (!answer.ok) throw new Error(`the upgrade was refused: ${await answer.text()}`)
  return ((await answer.json()) as { readonly id: string }).id
}

async function takeAll(url: string, demo: Demo, upgradeId: string): Promise<void> {
  const org = `/orgs/${demo.org_id}`
  const [siteId = ''] = demo.site_ids
  /** The address of each page, and a text that it shows when it is complete. */
  const pages = [
    ['overview', org, '3 sites'],
    ['devices', `${org}/devices`, 'berlin-ap-eap102-1'],
    ['access-point', `${org}/sites/${siteId}/devices/02516e000001`, 'AP connected'],
    ['switch', `${org}/sites/${siteId}/devices/02516e000013`, 'Switch connected'],
    ['upgrades', `${org}/upgrades`, 'To 3.2.0'],
    ['wizard', `${org}/upgrades/new?gate=first`, 'Upgraded after each phase'],
    ['audit-log', `${org}/audit`, 'Before and after'],
    ['rollout', `${org}/upgrades/${upgradeId}`, 'Phase 1'],
  ] as const
  const browser = await launchChromium()
  try {
    for (const [name, view] of Object.entries(views)) {
      const context = await openView(browser, url, view)
      const page = await context.newPage()
      await page.goto('/sign-in')
      await page.screenshot({ path: join(folder, `sign-in-${name}.png`) })
      await signIn(page, demo)
      await page.waitForURL(`**${org}`)
      for (const [title, path, text] of pages) {
        await page.goto(path, { waitUntil: 'domcontentloaded' })
        await page.getByText(text).first().waitFor()
        await page.screenshot({ path: join(folder, `${title}-${name}.png`), fullPage: name === 'narrow' })
        process.stdout.write(`${join(folder, `${title}-${name}.png`)}\n`)
      }
      await context.close()
    }
  } finally {
    await browser.close()
  }
}
