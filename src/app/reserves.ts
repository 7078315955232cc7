/**
 * The time that earlier parts leave to these when the service stops; the rest have 100 ms each. Together with the 10 s that
 * the gateway may take they fit into the time of the whole stop.
 */
export const RESERVES_MS = {
  webhooks: 1000,
  jobs: 500,
  http: 1000,
  apart: 500,
  mailer: 200,
  context: 500,
  /** Its checkpoint may take longer: the next start repeats what it has not written. */
  postgres: 2000,
} as const
