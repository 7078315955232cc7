import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { AccountSettings } from '../../../src/accounts/parts.ts'
import { type TestOrg, type TestServer, startTestServer } from '../servers/server.ts'
import { type TestClock, createTestClock } from '../test-clock.ts'
import { type Browser, createBrowser } from './browser.ts'

/** An administrator at a browser. */
export interface Desk {
  readonly clock: TestClock
  readonly server: TestServer
  /** The administrator with the organization. */
  readonly org: TestOrg
  readonly browser: Browser
}

export interface DeskOptions {
  /** True if the administrator has logged in when a test begins. */
  readonly isSignedIn: boolean
  readonly settings?: Partial<AccountSettings>
}

const MINUTE_MS = 60_000

/** Starts a server for the tests of the file, and adds an organization with a new browser for each test. */
export function useBrowser({ isSignedIn, settings = {} }: DeskOptions): Desk {
  const clock = createTestClock()
  let server: TestServer
  let org: TestOrg
  let browser: Browser
  beforeAll(async () => {
    server = await startTestServer(clock, settings)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    // Each test has its own window of the limit by address.
    clock.advance(MINUTE_MS)
    org = await server.addOrg()
    browser = createBrowser(server)
    if (isSignedIn) await browser.login(org.email, org.password)
  })
  return {
    clock,
    get server() {
      return server
    },
    get org() {
      return org
    },
    get browser() {
      return browser
    },
  }
}
