/**
 * States of an upgrade's target in which its device has been commanded and the outcome is not known yet. The rollout
 * engine, which has the other states too, checks that these are some of them.
 */
export const inFlightStates = ['dl_requested', 'downloading', 'reboot_requested', 'rebooting', 'verifying'] as const
