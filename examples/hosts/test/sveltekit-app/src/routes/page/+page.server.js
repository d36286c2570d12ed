// Reads another route of the app: that request is a part of this one.
export const load = async ({ fetch }) => (await fetch("/inbox")).json();
