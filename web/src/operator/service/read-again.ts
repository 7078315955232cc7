/** The interval at which the view is read again while it is visible. */
export const READ_AGAIN_MS = 10_000
