import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core'
import { type ConsoleFiles, readConsoleFiles } from '../../../src/http/console/console-files.ts'

/** Debian's Chromium. The one without a window is the same browser, and spends a third of the time on a page. */
const installed = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** SIGNALBOX_TEST_CHROMIUM names another one. */
const path = process.env['SIGNALBOX_TEST_CHROMIUM'] ?? installed.find((each) => existsSync(each)) ?? '/usr/bin/chromium'

/** The reason why tests in a browser are skipped; null if there is one. */
export const noChromium = existsSync(path) ? null : `there is no ${path}`

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Builds the console, unless it is up to date. */
export async function buildConsole(): Promise<ConsoleFiles> {
  await promisify(execFile)(process.execPath, ['scripts/run.mjs', 'build-console'], { cwd: root })
  const files = await readConsoleFiles(`${root}/dist/console`)
  if (files === null) throw new Error('the console was not built')
  return files
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: path,
    // Its sandbox does not work for root, and the pages are our own.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
}

export interface View {
  readonly scheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  readonly zone?: string
}

/** Opens a separate window with separate cookies. */
export function openView(
  browser: Browser,
  url: string,
  { scheme = 'light', width = 1280, height = 860, zone = 'Europe/Berlin' }: View = {},
): Promise<BrowserContext> {
  return browser.newContext({
    baseURL: url,
    colorScheme: scheme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    timezoneId: zone,
    locale: 'en-GB',
  })
}

interface Login {
  readonly email: string
  readonly password: string
}

/** Gives the browser a session without the page for it, which costs as much processor time as two pages. */
export async function openSession(context: BrowserContext, { email, password }: Login): Promise<void> {
  const answer = await context.request.post('/api/v1/login', { data: { email, password } })
  if (!answer.ok()) throw new Error(`the login was answered with ${answer.status()}: ${await answer.text()}`)
}

/** Signs in as a person does. */
export async function signIn(page: Page, { email, password }: Login): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
