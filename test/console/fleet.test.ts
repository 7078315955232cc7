import { beforeAll, describe, expect, it } from 'vitest'
import { noChromium } from '../support/peers/chromium.ts'
import { type Demo, openDemo } from './demo.ts'
import { testDevices } from './devices-suite.ts'
import { testPages } from './pages-suite.ts'
import { testWebhookPages } from './webhook-pages-suite.ts'

describe.skipIf(noChromium !== null)(
  `the console with a simulated fleet${noChromium === null ? '' : `: ${noChromium}`}`,
  () => {
    let demo: Demo
    // The start of the server and its fleet costs as much as half of the tests, so all of them share it.
    beforeAll(async () => {
      demo = await openDemo()
    }, 240_000)

    testDevices(() => demo)
    testPages(() => demo)
    testWebhookPages(() => demo)

    it('has no script errors and no violations of its policy', () => {
      expect(demo.complaints).toEqual([])
    })
  },
)
