/** How many full days delivery records and their requests and responses are kept, for preparePartitions(). */
export const keptDays = { webhook_delivery: 30, webhook_body: 7 } as const
