export declare function reportsWithoutChangeset(diff: string): readonly string[];
