import { flag, part } from '../http/lists/filters.ts'

/** Filters for the list of webhooks. */
export const webhookFilters = {
  failing: flag({
    about:
      'true if the service has disabled it, its last attempt failed, with the type pull no message was acknowledged for a day, or messages to it were dropped within the last hour',
  }),
  name: part(),
}
