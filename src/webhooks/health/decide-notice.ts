/** The hours of failing after which admins get a mail; after the last of them the webhook is disabled. */
export const noticeHours = [1, 24, 72] as const

export type NoticeHours = (typeof noticeHours)[number]

/** A webhook is disabled only after this many failures: a few failures of rare messages show little. */
export const MIN_FAILURES = 20

const HOUR_MS = 3600e3

/** A lane whose attempts fail, or whose receiver no longer fetches. */
export interface FailingSigns {
  readonly failingSince: Date
  readonly failures: number
  /** True if the receiver fetches the messages: such a webhook is never disabled, so that none of them is lost earlier than after its week. */
  readonly isPulled: boolean
  /** The last stage that admins have been notified of; 0 for none. */
  readonly noticed: number
}

/** Returns the stage that admins must be notified of now; null if none. Stages that a server missed are skipped. */
export function decideNotice(
  { failingSince, failures, isPulled, noticed }: FailingSigns,
  now: Date,
): NoticeHours | null {
  const failingMs = now.getTime() - failingSince.getTime()
  const reached = noticeHours.findLast(
    (hours) => failingMs >= hours * HOUR_MS && (isPulled || !disables(hours) || failures >= MIN_FAILURES),
  )
  return reached === undefined || reached <= noticed ? null : reached
}

export function disables(hours: number): boolean {
  return hours === noticeHours.at(-1)
}
