import { expect, it } from 'vitest'
import { effectText } from '../display/forms/effect.ts'
import { cancelEffect } from './site-effects.ts'

it('says how many a cancellation at a site concerns, with those that download', () => {
  expect(effectText(cancelEffect({ queued: 2, upgrading: 0, success: 1 }, 'device'))).toBe(
    'Cancels at this site the upgrade of 2 devices. They keep their present firmware. 1 device stays upgraded. This cannot be undone.',
  )
  expect(effectText(cancelEffect({ queued: 0, upgrading: 3, success: 0 }, 'router'))).toBe(
    'Cancels at this site the upgrade of 3 routers. Those that restart already finish it, and the others keep their present firmware. 0 routers stay upgraded. This cannot be undone.',
  )
})
