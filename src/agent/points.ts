/**
 * The points between the lasting steps of the agent. Tests kill the agent at each of them; nothing may then be lost or
 * answered differently.
 */
export type Point =
  | 'key written'
  | 'registered'
  | 'command recorded'
  | 'part written'
  | 'artifact downloaded'
  | 'package installed'
  | 'reboot recorded'
  | 'reboot begun'
  | 'support collected'
  | 'support uploaded'
  | 'command executed'
  | 'answer recorded'
  | 'answer sent'

export type OnPoint = (point: Point) => void
