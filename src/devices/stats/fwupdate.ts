/**
 * The progress of a firmware update at each of its marks, in percent of the whole. Clients take 70 for "the image is on
 * the device" and 100 for the end.
 */
export const progressAt = { requested: 5, downloaded: 70, installed: 90, verifying: 95, done: 100 } as const
