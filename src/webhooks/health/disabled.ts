import { noticeHours } from './decide-notice.ts'

/** When and why a webhook was disabled. */
export interface Disabled {
  readonly at: Date
  /** `request`: a client has asked for it; `gone`: its receiver answered 410; `failing`: see decide-notice.ts. */
  readonly why: 'request' | 'gone' | 'failing'
}

/** Why the service disables webhooks, as the ends of sentences. */
export const serviceReasons = {
  gone: 'its receiver answered 410 Gone',
  failing: `its receiver has failed for ${noticeHours[2]} hours`,
} as const satisfies Readonly<Partial<Record<Disabled['why'], string>>>

/**
 * Returns since when and why a webhook is disabled after a request, null if it is enabled now, and undefined if that has
 * not changed.
 * @param before Null for a new webhook.
 */
export function disabledByRequest(
  { enabled }: { readonly enabled: boolean },
  before: { readonly enabled: boolean } | null,
  at: Date,
): Disabled | null | undefined {
  if (enabled === (before?.enabled ?? true)) return undefined
  return enabled ? null : { at, why: 'request' }
}
