/** The view is read again so often while somebody looks at it. */
export const READ_AGAIN_MS = 10_000
