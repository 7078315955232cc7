/**
 * The number of full days for which delivery records and their requests and responses are stored, for
 * preparePartitions().
 */
export const keptDays = { webhook_delivery: 30, webhook_body: 7 } as const
