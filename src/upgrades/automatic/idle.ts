/** Rolls back an upgrade that is not worth beginning. Its message is for people. */
export class Idle extends Error {}
