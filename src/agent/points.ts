/**
 * The points between the lasting steps of the agent. Tests kill the agent at each of them; nothing may then be lost or
 * answered differently.
 */
export const points = [
  'key written',
  'registered',
  'command recorded',
  'part written',
  'artifact downloaded',
  'hook recorded',
  'hook begun',
  'earlier hook awaited',
  'package installed',
  'reboot recorded',
  'reboot begun',
  'support collected',
  'support uploaded',
  'command executed',
  'answer recorded',
  'answer sent',
] as const

/** The points in the renewal of the certificate. */
export const renewalPoints = [
  'next key written',
  'next certificate written',
  'certificate replaced',
  'former key removed',
] as const

export type Point = (typeof points)[number] | (typeof renewalPoints)[number]

export type OnPoint = (point: Point) => void
