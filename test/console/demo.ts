import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterFile } from '../support/after-file.ts'
import { buildConsole, launchChromium, openView, signIn } from '../support/peers/chromium.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** Pages wait for the service, and the service for the processor. */
export const WITHIN_MS = 60_000

export interface Demo {
  readonly server: ServerProcess
  /** On the overview, signed in. */
  readonly page: Page
  /** The address of the organization's pages. */
  readonly org: string
  /** Berlin. */
  readonly siteId: string
  /** Defects of pages, and what their policy has blocked. */
  readonly complaints: readonly string[]
}

/** Starts a server with the simulated fleet, and opens its console, until all tests of the file have ended. */
export async function openDemo(): Promise<Demo> {
  await buildConsole()
  const dataDir = join(await temporaryDir(afterFile), 'data')
  const env = { SIGNALBOX_ROLLOUT_SOAK_S: '0', SIGNALBOX_DEMO_TIME_PERCENT: '2' }
  const server = await startServerProcess({ dataDir, demo: true, env }, afterFile)
  if (server.demo === null) throw new Error('no demo')
  const browser = await launchChromium()
  afterFile(() => browser.close())
  const view = await openView(browser, server.url)
  view.setDefaultTimeout(WITHIN_MS)
  const page = await view.newPage()
  const complaints: string[] = []
  // Chromium reports each refusal of the server; those of the pages are expected.
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() === 'error' && !/status of 4(00|09) /.test(text)) complaints.push(text)
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  const { email, password } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'))
  await signIn(page, { email, password })
  const org = `/orgs/${server.demo.org_id}`
  await page.waitForURL(`**${org}`)
  return { server, page, org, siteId: server.demo.site_ids[0] ?? '', complaints }
}
