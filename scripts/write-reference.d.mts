export function withReference(text: string, path: string): string;
export function referencePages(): string[];
