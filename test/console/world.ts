import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { buildConsole, launchChromium, openSession, openView } from '../support/peers/chromium.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { WITHIN_MS } from './demo.ts'

export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
}

/** A server with the console, and a browser. */
export interface ConsoleWorld extends TestServer {
  readonly browser: Browser
  /** The path of the organization, of the API and of its pages. */
  readonly path: string
  /** @param view Options of the browser's context. */
  openPage(view?: Parameters<typeof openView>[2]): Promise<OpenPage>
  /** Opens a page as a person who has signed in. */
  enter(person: TestOrg, path: string, view?: Parameters<typeof openView>[2]): Promise<OpenPage>
  /** Adds a webhook to the organization. @returns Its id. */
  addWebhook(body: object): Promise<string>
}

/** What suites share that continue each other's page. */
export interface SignedIn {
  readonly server: ConsoleWorld
  readonly page: Page
}

/** @param ssoDomains The identity providers by the domain of people's addresses. */
export async function startConsole(ssoDomains = new Map<string, string>()): Promise<ConsoleWorld> {
  const server = await startTestServer(undefined, { ssoDomains }, null, { console: await buildConsole() })
  const browser = await launchChromium()
  const path = `/orgs/${server.org.orgId}`
  const openPage: ConsoleWorld['openPage'] = async (view = {}) => {
    const context = await openView(browser, server.url, view)
    context.setDefaultTimeout(WITHIN_MS)
    return { context, page: await context.newPage() }
  }
  return {
    ...server,
    browser,
    path,
    openPage,
    async enter(person, target, view) {
      const opened = await openPage(view)
      await openSession(opened.context, person)
      await opened.page.goto(target)
      return opened
    },
    async addWebhook(body) {
      const { status, body: webhook } = await server.call('POST', `${path}/webhooks`, { body })
      expect(status).toBe(200)
      return webhook.id
    },
    async close() {
      await browser.close()
      await server.close()
    },
  }
}
